import { z } from 'zod';
import type { RecordingRedaction } from './call-recorder.ts';
import { WAV_HEADER_BYTES, type RecordingFs } from './part-file.ts';

/** STTs and voices tell the times of words late and round: so much more is made silent. */
const BEFORE_MS = 500;
const AFTER_MS = 300;
const CHUNK_FRAMES = 16_384;

/** A stretch of a recording that is made silent. */
export const mutedStretchSchema = z.object({
  /** Null: all channels. */
  channel: z.number().int().min(0).max(1).nullable(),
  from_ms: z.number(),
  /** Null: to the end. */
  to_ms: z.number().nullable(),
});
export type MutedStretch = z.infer<typeof mutedStretchSchema>;

/** What is known of what is to be silent, kept beside the recording. */
export interface MutingJob {
  channels: number;
  sample_rate: number;
  muted: MutedStretch[];
  /** Until where what was said has been looked at; null: nothing of the call is masked. */
  judged_ms: number | null;
}

/** @param changed is called when `job` is to be written down again */
export function recordingRedaction(job: MutingJob, changed: () => void): RecordingRedaction {
  return {
    mute: (side, fromMs, toMs) => {
      const channel = job.channels === 1 ? null : side === 'caller' ? 0 : 1;
      const stretch = { channel, from_ms: Math.max(0, fromMs - BEFORE_MS), to_ms: toMs + AFTER_MS };
      const same = job.muted.some(
        (one) => one.channel === channel && one.from_ms === stretch.from_ms && one.to_ms === stretch.to_ms,
      );
      if (same) return;
      job.muted.push(stretch);
      changed();
    },
    judged: (untilMs) => {
      job.judged_ms = untilMs;
      changed();
    },
  };
}

/** The stretches of a recording whose process died: nothing is kept of what nobody has looked at. */
export function mutedAfterCrash({ muted, judged_ms }: MutingJob): MutedStretch[] {
  return judged_ms === null ? muted : [...muted, { channel: null, from_ms: judged_ms, to_ms: null }];
}

/** Makes stretches of a 16-bit WAV file silent, in the file itself. */
export async function muteFile(
  path: string,
  fs: RecordingFs,
  { channels, sample_rate: sampleRate }: Pick<MutingJob, 'channels' | 'sample_rate'>,
  stretches: readonly MutedStretch[],
): Promise<void> {
  if (stretches.length === 0) return;
  const file = await fs.open(path, 'r+');
  try {
    const frameBytes = channels * 2;
    const frames = Math.floor(((await file.stat()).size - WAV_HEADER_BYTES) / frameBytes);
    const buffer = Buffer.allocUnsafe(CHUNK_FRAMES * frameBytes);
    for (const { channel, from_ms, to_ms } of stretches) {
      const end = to_ms === null ? frames : Math.min(frames, Math.ceil((to_ms * sampleRate) / 1000));
      for (let frame = Math.floor((from_ms * sampleRate) / 1000); frame < end; frame += CHUNK_FRAMES) {
        const bytes = Math.min(CHUNK_FRAMES, end - frame) * frameBytes;
        const at = WAV_HEADER_BYTES + frame * frameBytes;
        if (channel === null || channels === 1) buffer.fill(0, 0, bytes);
        else {
          await file.read(buffer, 0, bytes, at);
          for (let sample = channel * 2; sample < bytes; sample += frameBytes) buffer.writeInt16LE(0, sample);
        }
        await file.write(buffer, 0, bytes, at);
      }
    }
    await file.sync();
  } finally {
    await file.close();
  }
}
