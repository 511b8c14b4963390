import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import type { KeywordArrays } from './keyword-index.ts';

/** What an index file holds. */
export interface StoredIndex {
  /** Ids of the passages, by number. */
  ids: readonly string[];
  languages: readonly string[];
  keywords: KeywordArrays;
  /** One behind another, of `dimensions` each; none in a base that is searched by words alone. */
  vectors: Int8Array;
  dimensions: number;
}

const MAGIC = 0x5844_494b; // "KIDX"
const FORMAT = 1;

interface Header {
  format: number;
  languages: string[];
  dimensions: number;
  sections: { name: string; bytes: number }[];
}

/**
 * Writes an index whole or not at all: magic number, length of the header, the header as JSON, then each section from a
 * multiple of 8 bytes. Numbers are little-endian.
 */
export async function writeIndex(path: string, index: StoredIndex): Promise<void> {
  const sections: [name: string, bytes: Uint8Array][] = [
    ['ids', Buffer.from(index.ids.join('\n'))],
    ['terms', Buffer.from(index.keywords.terms.join('\n'))],
    ['starts', bytesOf(index.keywords.starts)],
    ['postings', bytesOf(index.keywords.postings)],
    ['lengths', bytesOf(index.keywords.lengths)],
    ['documents', bytesOf(index.keywords.documents)],
    ['vectors', bytesOf(index.vectors)],
  ];
  const header: Header = {
    format: FORMAT,
    languages: [...index.languages],
    dimensions: index.dimensions,
    sections: sections.map(([name, bytes]) => ({ name, bytes: bytes.length })),
  };
  const json = Buffer.from(JSON.stringify(header));
  const start = Buffer.alloc(8);
  start.writeUInt32LE(MAGIC, 0);
  start.writeUInt32LE(json.length, 4);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const part = `${path}.${randomUUID()}.part`;
  try {
    const file = await open(part, 'wx', 0o600);
    try {
      let at = 0;
      const write = async (bytes: Uint8Array) => {
        if (bytes.length > 0) await file.write(bytes, 0, bytes.length, at);
        at += bytes.length;
      };
      await write(start);
      await write(json);
      for (const [, bytes] of sections) {
        at = aligned(at);
        await write(bytes);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

/** @throws Error when the file is not there, or of another format */
export async function readIndex(path: string): Promise<StoredIndex & { bytes: number }> {
  const file = await readFile(path);
  if (file.length < 8 || file.readUInt32LE(0) !== MAGIC)
    throw new Error('This is no index of a knowledge base.');
  const headerBytes = file.readUInt32LE(4);
  const header = JSON.parse(file.toString('utf8', 8, 8 + headerBytes)) as Header;
  if (header.format !== FORMAT) throw new Error(`Indexes of the format ${header.format} cannot be read.`);
  const sections = new Map<string, Buffer>();
  let at = 8 + headerBytes;
  for (const { name, bytes } of header.sections) {
    at = aligned(at);
    sections.set(name, file.subarray(at, at + bytes));
    at += bytes;
  }
  const section = (name: string) => sections.get(name) ?? Buffer.alloc(0);
  return {
    bytes: file.length,
    languages: header.languages,
    ids: linesOf(section('ids')),
    dimensions: header.dimensions,
    vectors: signedOf(section('vectors')),
    keywords: {
      terms: linesOf(section('terms')),
      starts: numbersOf(section('starts')),
      postings: numbersOf(section('postings')),
      lengths: numbersOf(section('lengths')),
      documents: numbersOf(section('documents')),
    },
  };
}

const aligned = (at: number): number => Math.ceil(at / 8) * 8;

function bytesOf(array: Uint32Array | Int8Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** A view where the bytes lie as they must, else a copy: small files are read into a shared block at any place. */
function numbersOf(bytes: Buffer): Uint32Array {
  if (bytes.byteOffset % 4 === 0) return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
  return new Uint32Array(Uint8Array.from(bytes).buffer);
}

function signedOf(bytes: Buffer): Int8Array {
  return new Int8Array(bytes.buffer, bytes.byteOffset, bytes.length);
}

function linesOf(bytes: Buffer): string[] {
  return bytes.length === 0 ? [] : bytes.toString('utf8').split('\n');
}
