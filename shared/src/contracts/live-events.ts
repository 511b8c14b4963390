import { z } from 'zod';

/** What whoever follows a session is told: an event that is stored, or words while they are said, which never are. */
export const liveEventSchema = z.object({
  id: z.string(),
  /** As it is stored; null of what is not. */
  index: z.number().int().nullable(),
  at: z.string(),
  offset_ms: z.number().int(),
  type: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type LiveEvent = z.infer<typeof liveEventSchema>;

/** An event on its way to those who follow its session or its project. */
export interface LiveEntry {
  session_id: string;
  project_id: string;
  /** `LiveEvent` as JSON: read only where somebody follows it. */
  event: string;
}

/** @returns undefined for what is none: a control plane of another version wrote it */
export function parseLiveEvent(text: string): LiveEvent | undefined {
  try {
    return liveEventSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
