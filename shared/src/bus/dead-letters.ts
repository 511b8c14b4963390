import { callEventSchema } from '../contracts/call-events.ts';
import type { DeadLetter, DeadLetters } from './bus.ts';

/** A given-up event as it is kept. */
export interface StoredLetter {
  id: string;
  body: string;
  reason: string;
  at: Date;
}

/** Where given-up events are kept. */
export interface LetterStore {
  countLetters(): Promise<number>;
  /** Oldest first, behind the letter with the id `after`. */
  readLetters(options: { limit: number; after: string | undefined }): Promise<StoredLetter[]>;
  /** Removes the letter and appends its event, both or neither. @returns false when the letter was gone */
  moveToLog(letter: { id: string; sessionId: string; body: string }): Promise<boolean>;
  removeLetter(id: string): Promise<void>;
}

/** The dead letters of a store, read and checked. */
export function openDeadLetters(store: LetterStore): DeadLetters {
  return {
    count: () => store.countLetters(),
    async list({ limit, after }) {
      const letters = await store.readLetters({ limit, after });
      return letters.map(({ id, body, reason, at }) => ({ id, event: parseLetter(body), reason, at }));
    },
    async replay(letter: DeadLetter) {
      const { data } = callEventSchema.safeParse(letter.event);
      if (!data) return false;
      const body = JSON.stringify(letter.event);
      return store.moveToLog({ id: letter.id, sessionId: data.session_id, body });
    },
    remove: (id) => store.removeLetter(id),
  };
}

/** What can't be read as JSON is shown as the text it is. */
export function parseLetter(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}
