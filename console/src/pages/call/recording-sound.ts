import { useEffect, useState } from 'react';
import { authorizedFetch } from '../../api/client.ts';
import { toApiError } from '../../api/api-error.ts';
import { apiUrl } from '../../api/page-settings.ts';
import type { Playback } from './playback.ts';
import { loudest, WavPeaks } from './wav-peaks.ts';

/** Larger ones are played from the server while they come, and are not drawn. */
const MAX_HELD_BYTES = 96 * 1024 * 1024;
/** Compressed ones larger than this are played and not drawn. */
const MAX_UNPACKED_BYTES = 24 * 1024 * 1024;
/** Stretches that the waveform is drawn in. */
const POINTS = 4000;
/** How often the waveform is drawn while the file comes. */
const DRAW_EVERY_MS = 250;

export interface Outline {
  channels: readonly Float32Array[];
  seconds: number;
}

export interface RecordingSound {
  outline: Outline | null;
  /** How much of the file is here, 0 to 1. */
  loaded: number;
  /** Too long to be drawn. */
  streamed: boolean;
  error: unknown;
}

interface StoredRecording {
  id: string;
  status: string;
  size_bytes: number | null;
  url: string | null;
}

/** Brings a recording into the playback, and its outline to be drawn, as it comes. */
export function useRecordingSound(
  recording: StoredRecording | null | undefined,
  playback: Playback,
): RecordingSound & { retry: () => void } {
  const [sound, setSound] = useState<RecordingSound>(NOTHING);
  const [tries, setTries] = useState(1);
  const id = recording?.status === 'ready' ? recording.id : null;
  const bytes = recording?.size_bytes ?? 0;
  const url = recording?.url ?? null;
  useEffect(() => {
    setSound(NOTHING);
    if (id === null) return;
    if (bytes > MAX_HELD_BYTES && url !== null) {
      playback.setSource(url);
      setSound({ ...NOTHING, loaded: 1, streamed: true });
      return;
    }
    const stop = new AbortController();
    let held: string | undefined;
    loadRecording(id, stop.signal, (part) => setSound((before) => ({ ...before, ...part })))
      .then((blob) => {
        if (stop.signal.aborted) return;
        held = URL.createObjectURL(blob);
        playback.setSource(held);
      })
      .catch((error: unknown) => {
        if (!stop.signal.aborted) setSound((before) => ({ ...before, error }));
      });
    return () => {
      stop.abort();
      if (held !== undefined) URL.revokeObjectURL(held);
    };
    // The link changes each time that the recording is asked for; the recording does not.
  }, [id, playback, tries]);
  return { ...sound, retry: () => setTries(tries + 1) };
}

const NOTHING: RecordingSound = { outline: null, loaded: 0, streamed: false, error: null };

async function loadRecording(
  id: string,
  signal: AbortSignal,
  onPart: (part: Partial<RecordingSound>) => void,
): Promise<Blob> {
  const response = await authorizedFetch(new Request(`${apiUrl}/v1/recordings/${id}/content`, { signal }));
  if (!response.ok || !response.body)
    throw toApiError(
      response.status,
      await response.json().catch(() => null),
      response.headers.get('x-request-id'),
    );
  const type = response.headers.get('content-type') ?? 'audio/wav';
  const length = Number(response.headers.get('content-length') ?? 0);
  // What is compressed is drawn when it is here.
  let peaks = type.includes('wav') && length > 0 ? new WavPeaks({ points: POINTS, bytes: length }) : null;
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  let read = 0;
  let drawn = performance.now();
  const reader = response.body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    pieces.push(next.value);
    read += next.value.length;
    try {
      peaks?.add(next.value);
    } catch {
      peaks = null;
    }
    if (performance.now() - drawn < DRAW_EVERY_MS) continue;
    drawn = performance.now();
    onPart({ loaded: length > 0 ? read / length : 0, outline: outlineOf(peaks) });
  }
  const blob = new Blob(pieces, { type });
  onPart({ loaded: 1, outline: outlineOf(peaks) ?? (await decoded(blob)) });
  return blob;
}

/** The outline of what is compressed. Null: it is too much to be unpacked, or the browser cannot. */
async function decoded(blob: Blob): Promise<Outline | null> {
  if (blob.size > MAX_UNPACKED_BYTES) return null;
  try {
    // Few samples do for an outline.
    const context = new OfflineAudioContext(2, 1, 8000);
    const audio = await context.decodeAudioData(await blob.arrayBuffer());
    const channels = Array.from({ length: Math.min(2, audio.numberOfChannels) }, (_, at) =>
      loudest(audio.getChannelData(at), POINTS),
    );
    return { channels, seconds: audio.duration };
  } catch {
    return null;
  }
}

function outlineOf(peaks: WavPeaks | null): Outline | null {
  return peaks && peaks.seconds > 0 ? { channels: peaks.channels, seconds: peaks.seconds } : null;
}
