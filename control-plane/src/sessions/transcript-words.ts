import type { Model } from 'mongoose';
import { splitWords } from '../composition/words.ts';
import type { Database } from '../storage/database.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';

/** Different words of one turn that it is found by: each is a key of an index. */
const MAX_TURN_WORDS = 200;
/** The same of a whole session. */
const MAX_SESSION_WORDS = 4000;
/** Words of one search. */
export const MAX_SEARCHED_WORDS = 16;

/** Scripts that put no spaces between words: their texts are found by pairs of characters. */
const SCRIPTS = ['Han', 'Hiragana', 'Katakana', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const UNSPACED = `[${SCRIPTS.map((script) => `\\p{Script_Extensions=${script}}`).join('')}]`;
const RUNS = new RegExp(`${UNSPACED}+|(?:(?!${UNSPACED}).)+`, 'gu');
const IS_UNSPACED = new RegExp(`^${UNSPACED}`, 'u');

/** The different words of a text, as transcripts are searched by: lower-cased, without punctuation. */
export function transcriptWords(text: string): string[] {
  const runs = splitWords(text).flatMap((word) => word.match(RUNS) ?? []);
  return [...new Set(runs.flatMap((run) => (IS_UNSPACED.test(run) ? pairsOf(run) : [run])))];
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, at) => `${characters[at]}${character}`);
}

/** Keeps, with each session, the words that were said in it. Doing it twice is harmless; an erased session gets none. */
export class TranscriptWords {
  readonly #sessions: Model<SessionRecord>;

  constructor({ database }: { database: Database }) {
    this.#sessions = database.model(sessionCollection);
  }

  /** A new turn. */
  async add(sessionId: string, text: string): Promise<void> {
    const words = ofTurn(text);
    if (words.length === 0) return;
    const full = `said.${MAX_SESSION_WORDS - MAX_TURN_WORDS}`;
    await this.#sessions.updateOne(
      { _id: sessionId, erased_at: null, [full]: { $exists: false } },
      { $addToSet: { said: { $each: words } } },
      { timestamps: false },
    );
  }

  /**
   * A turn whose text is another now, such as one that was masked.
   * @param turns reads the texts of all turns, as they are now: none but theirs are kept
   */
  async change(
    sessionId: string,
    { before, after }: { before: string; after: string },
    turns: () => Promise<string[]>,
  ): Promise<void> {
    const now = new Set(ofTurn(after));
    if (ofTurn(before).every((word) => now.has(word))) return this.add(sessionId, after);
    const said = [...new Set((await turns()).flatMap(ofTurn))].slice(0, MAX_SESSION_WORDS);
    await this.#sessions.updateOne(
      { _id: sessionId, erased_at: null },
      { $set: { said } },
      { timestamps: false },
    );
  }
}

function ofTurn(text: string): string[] {
  return transcriptWords(text).slice(0, MAX_TURN_WORDS);
}
