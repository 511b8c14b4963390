import type { LetterStore, StoredLetter } from './dead-letters.ts';
import type { LocalLetterRow, LocalLogRequest } from './local-event-worker.ts';

/** The dead letters of the event log in a SQLite file, which its thread keeps. */
export class LocalLetters implements LetterStore {
  readonly #ask: (request: LocalLogRequest) => Promise<unknown>;
  readonly #onReturned: () => void;

  /** @param deps.onReturned told when the log has got an event back */
  constructor(deps: { ask: (request: LocalLogRequest) => Promise<unknown>; onReturned: () => void }) {
    this.#ask = deps.ask;
    this.#onReturned = deps.onReturned;
  }

  async countLetters(): Promise<number> {
    return (await this.#ask({ type: 'count_dead' })) as number;
  }

  async readLetters({ limit, after }: { limit: number; after: string | undefined }): Promise<StoredLetter[]> {
    const rows = (await this.#ask({ type: 'dead', after: Number(after ?? 0), limit })) as LocalLetterRow[];
    return rows.map(({ seq, body, reason, at }) => ({ id: String(seq), body, reason, at: new Date(at) }));
  }

  async moveToLog({ id, ...event }: { id: string; sessionId: string; body: string }): Promise<boolean> {
    const moved = (await this.#ask({ type: 'revive', seq: Number(id), ...event })) as boolean;
    if (moved) this.#onReturned();
    return moved;
  }

  async removeLetter(id: string): Promise<void> {
    await this.#ask({ type: 'remove_dead', seq: Number(id) });
  }
}
