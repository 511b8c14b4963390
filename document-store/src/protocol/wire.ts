import { decodeDocument } from '../bson/bson-decoder.ts';
import { encodeDocument, type Encodable } from '../bson/bson-encoder.ts';
import { CommandError } from '../errors.ts';
import type { BsonDocument } from '../bson/values.ts';

/** The largest message either side may send, as `hello` announces it. */
export const MAX_MESSAGE_BYTES = 48_000_000;

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;

const CHECKSUM_PRESENT = 1;
const MORE_TO_COME = 2;
/** Bits of OP_MSG's flags that a server must understand. */
const REQUIRED_BITS = 0xffff;

/** A command as it came: OP_MSG, or OP_QUERY to `$cmd` as drivers still greet with. */
export interface Request {
  requestId: number;
  form: 'message' | 'query';
  database: string;
  command: BsonDocument;
  /** The client does not want an answer. */
  silent: boolean;
}

/** The bytes are not a message of the protocol, so the connection has to end. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/**
 * Cuts a stream of bytes into messages.
 * @see https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
 */
export class MessageReader {
  #chunks: Buffer[] = [];
  #bytes = 0;
  #wanted = HEADER_BYTES;

  /** @throws WireError when a length cannot be that of a message */
  *push(chunk: Buffer): Generator<Buffer> {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    while (this.#bytes >= this.#wanted) {
      const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#bytes);
      this.#chunks = [all];
      const length = all.readInt32LE(0);
      if (length < HEADER_BYTES || length > MAX_MESSAGE_BYTES)
        throw new WireError(`a message of ${length} bytes`);
      const opCode = all.readInt32LE(12);
      if (opCode !== OP_MSG && opCode !== OP_QUERY)
        throw new WireError(`operation code ${opCode} is not supported`);
      this.#wanted = length;
      if (this.#bytes < length) return;
      this.#chunks = all.length > length ? [all.subarray(length)] : [];
      this.#bytes = all.length - length;
      this.#wanted = HEADER_BYTES;
      yield all.subarray(0, length);
    }
  }
}

/** @throws WireError when the message is malformed @throws CommandError when its documents are */
export function parseMessage(message: Buffer): Request {
  try {
    return message.readInt32LE(12) === OP_MSG ? parseOpMsg(message) : parseOpQuery(message);
  } catch (error) {
    if (error instanceof WireError || error instanceof CommandError) throw error;
    throw new WireError('a malformed message', { cause: error });
  }
}

function parseOpMsg(message: Buffer): Request {
  const flags = message.readUInt32LE(HEADER_BYTES);
  if (flags & REQUIRED_BITS & ~(CHECKSUM_PRESENT | MORE_TO_COME))
    throw new WireError(`flags ${flags} are not supported`);
  const end = message.length - (flags & CHECKSUM_PRESENT ? 4 : 0);
  let at = HEADER_BYTES + 4;
  let command: BsonDocument | undefined;
  const sequences: [name: string, documents: BsonDocument[]][] = [];
  while (at < end) {
    const kind = message[at++];
    const length = message.readInt32LE(at);
    if (length < 5 || at + length > end) throw new WireError('a section longer than its message');
    if (kind === 0) {
      if (command) throw new WireError('two bodies in one message');
      command = decodeDocument(message.subarray(at, at + length));
    } else if (kind === 1) {
      sequences.push(parseSequence(message.subarray(at + 4, at + length)));
    } else {
      throw new WireError(`section of kind ${kind}`);
    }
    at += length;
  }
  if (!command) throw new WireError('a message without a body');
  for (const [name, documents] of sequences) command[name] = documents;
  const database = command.$db;
  if (typeof database !== 'string') throw new CommandError(40571, 'OP_MSG requests require a $db argument');
  return {
    requestId: message.readInt32LE(4),
    form: 'message',
    database,
    command,
    silent: (flags & MORE_TO_COME) !== 0,
  };
}

function parseSequence(bytes: Buffer): [string, BsonDocument[]] {
  const nameEnd = bytes.indexOf(0);
  if (nameEnd < 0) throw new WireError('a document sequence without a name');
  const documents: BsonDocument[] = [];
  for (let at = nameEnd + 1; at < bytes.length;) {
    const length = bytes.readInt32LE(at);
    if (length < 5 || at + length > bytes.length) throw new WireError('a document longer than its section');
    documents.push(decodeDocument(bytes.subarray(at, at + length)));
    at += length;
  }
  return [bytes.toString('utf8', 0, nameEnd), documents];
}

function parseOpQuery(message: Buffer): Request {
  const nameEnd = message.indexOf(0, HEADER_BYTES + 4);
  if (nameEnd < 0) throw new WireError('a query without a collection');
  const name = message.toString('utf8', HEADER_BYTES + 4, nameEnd);
  if (!name.endsWith('.$cmd')) throw new WireError('only commands are supported in OP_QUERY');
  const at = nameEnd + 9;
  const length = message.readInt32LE(at);
  const command = decodeDocument(message.subarray(at, at + length));
  return {
    requestId: message.readInt32LE(4),
    form: 'query',
    database: name.slice(0, -5),
    command,
    silent: false,
  };
}

let lastRequestId = 0;

/** An answer in the form of its request. */
export function encodeReply(
  request: Pick<Request, 'requestId' | 'form'>,
  reply: { [field: string]: Encodable },
): Buffer[] {
  const body = encodeDocument(reply);
  const query = request.form === 'query';
  const head = Buffer.alloc(query ? HEADER_BYTES + 20 : HEADER_BYTES + 5);
  head.writeInt32LE(head.length + body.length, 0);
  lastRequestId = (lastRequestId + 1) & 0x7fffffff;
  head.writeInt32LE(lastRequestId, 4);
  head.writeInt32LE(request.requestId, 8);
  head.writeInt32LE(query ? OP_REPLY : OP_MSG, 12);
  if (query) {
    // Flags: AwaitCapable, which every server since 1.6 sets; then no cursor, from 0, one document.
    head.writeInt32LE(8, HEADER_BYTES);
    head.writeInt32LE(1, HEADER_BYTES + 16);
  }
  return [head, body];
}
