import { randomBytes } from 'node:crypto';
import { MAX_DOCUMENT_BYTES, RawDocument, encodeDocument, type Encodable } from '../bson/bson-encoder.ts';
import { CommandError } from '../errors.ts';

/** What a cursor reads from: documents on demand, at rest between batches. */
export interface ResultSource {
  next(): RawDocument | undefined;
  /** Forgets what has been read ahead, see `QueryRun`. */
  pause(): void;
}

interface Cursor {
  id: bigint;
  namespace: string;
  source: ResultSource;
  /** The session that opened it, as text; its end closes the cursor. */
  session: string | undefined;
  lastUsedAt: number;
  /** Read for the last batch, which had no room for it. */
  left: RawDocument | undefined;
}

export interface Batch {
  id: bigint;
  documents: Encodable[];
}

const FIRST_BATCH = 101;
const MAX_CURSORS = 10_000;
/** As MongoDB's cursorTimeoutMillis. */
const IDLE_MS = 10 * 60 * 1000;
/** A batch's documents; the message around them has room of its own. */
const MAX_BATCH_BYTES = MAX_DOCUMENT_BYTES;

/** Open cursors, at most 10,000: the one longest unused makes room for a new one. */
export class Cursors {
  readonly #open = new Map<bigint, Cursor>();

  get size(): number {
    return this.#open.size;
  }

  /**
   * Reads the first batch, and keeps a cursor if there may be more.
   * @param batchSize undefined for MongoDB's default
   */
  open(
    namespace: string,
    source: ResultSource,
    options: { batchSize: number | undefined; single: boolean; session: string | undefined },
  ): Batch {
    const cursor: Cursor = {
      id: 0n,
      namespace,
      source,
      session: options.session,
      lastUsedAt: Date.now(),
      left: undefined,
    };
    const { documents, ended } = fill(cursor, options.batchSize ?? FIRST_BATCH);
    if (ended || options.single) return { id: 0n, documents };
    cursor.id = randomBytes(8).readBigUInt64LE() >> 1n;
    source.pause();
    if (this.#open.size >= MAX_CURSORS) this.#open.delete(this.#open.keys().next().value!);
    this.#open.set(cursor.id, cursor);
    return { id: cursor.id, documents };
  }

  /** @throws CommandError CursorNotFound */
  more(id: bigint, namespace: string, batchSize: number | undefined): Batch {
    const cursor = this.#open.get(id);
    if (!cursor) throw new CommandError('CursorNotFound', `cursor id ${id} not found`);
    if (cursor.namespace !== namespace) {
      throw new CommandError(
        'Unauthorized',
        `Requested getMore on namespace '${namespace}', but cursor belongs to a different namespace ${cursor.namespace}`,
      );
    }
    this.#open.delete(id);
    const { documents, ended } = fill(cursor, batchSize ?? Infinity);
    if (ended) return { id: 0n, documents };
    cursor.lastUsedAt = Date.now();
    cursor.source.pause();
    this.#open.set(id, cursor);
    return { id, documents };
  }

  /** @returns whether there was such a cursor */
  kill(id: bigint): boolean {
    return this.#open.delete(id);
  }

  endSession(session: string): void {
    for (const [id, cursor] of this.#open) if (cursor.session === session) this.#open.delete(id);
  }

  closeIdle(now: number): void {
    for (const [id, cursor] of this.#open) if (now - cursor.lastUsedAt > IDLE_MS) this.#open.delete(id);
  }
}

function fill(cursor: Cursor, batchSize: number): { documents: Encodable[]; ended: boolean } {
  const documents: Encodable[] = [];
  let bytes = 0;
  while (documents.length < batchSize) {
    const document = cursor.left ?? cursor.source.next();
    cursor.left = undefined;
    if (!document) return { documents, ended: true };
    if (documents.length > 0 && bytes + document.bytes.length > MAX_BATCH_BYTES) {
      cursor.left = document;
      break;
    }
    bytes += document.bytes.length;
    documents.push(document);
  }
  return { documents, ended: false };
}

/** A source over documents that have been computed, or are as they are asked for. */
export function sourceOf(
  documents: Iterator<RawDocument | Parameters<typeof encodeDocument>[0]>,
  pause: () => void,
): ResultSource {
  return {
    next() {
      const { value, done } = documents.next();
      if (done) return undefined;
      return value instanceof RawDocument
        ? value
        : new RawDocument(encodeDocument(value as Parameters<typeof encodeDocument>[0]));
    },
    pause,
  };
}
