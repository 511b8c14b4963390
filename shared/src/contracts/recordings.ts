import { z } from 'zod';

export const recordingStoreSchema = z.enum(['file', 's3', 'upload']);

/** What becomes of a call's recording, in the `recording` event and in the end report. */
export const recordingResultSchema = z.object({
  recording_id: z.string(),
  status: z.enum(['recording', 'stored', 'failed']),
  key: z.string().optional(),
  size_bytes: z.number().int().optional(),
  /** Hex digest of the whole file. */
  sha256: z.string().optional(),
  duration_ms: z.number().int().optional(),
  channels: z.number().int().optional(),
  format: z.enum(['wav', 'mp3']).optional(),
  /** Why it failed, as a code word: `disk_full`, `store_failed`, … */
  error: z.string().optional(),
  /** Silence written where the disk did not keep up. */
  gap_ms: z.number().int().optional(),
});
export type RecordingResult = z.infer<typeof recordingResultSchema>;

/** Object key of one recording: `recordings/{org}/{project}/{yyyy}/{mm}/{dd}/{session}/{recording}.wav`. */
export function recordingKey(
  ids: { orgId: string; projectId: string; sessionId: string; recordingId: string },
  at: Date,
  format: 'wav' | 'mp3' = 'wav',
): string {
  const day = at.toISOString().slice(0, 10).replaceAll('-', '/');
  return `recordings/${ids.orgId}/${ids.projectId}/${day}/${ids.sessionId}/${ids.recordingId}.${format}`;
}
