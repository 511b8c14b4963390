import { parseWav } from '../audio/wav.ts';

/**
 * Speaks with the flite command line.
 * @param module `flite.wasm`, compiled
 * @param text plain ASCII without control characters
 * @returns 16 kHz mono samples of the voice slt
 * @throws Error when the program fails; the message holds none of the text
 */
export function runFlite(module: WebAssembly.Module, text: string): Int16Array {
  const { code, file } = runFliteProgram(module, ['-voice', 'slt', '-t', text, '-o', '/out/speech.wav']);
  if (code !== 0) throw new Error(`flite ended with code ${code}.`);
  return parseWav(file).samples;
}

/**
 * Runs the flite command line (a WASI program) once, in memory: no file, no environment, no clock. Node's own
 * `node:wasi` is not used, because it crashed the whole process on words of some thousand letters, where this ends in
 * an exception at worst.
 * @param input the content of `/out/words`
 * @returns its exit code, what it printed and the one file it wrote in `/out`
 * @see WASI snapshot preview 1, https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
 */
export function runFliteProgram(
  module: WebAssembly.Module,
  args: readonly string[],
  input: Uint8Array = new Uint8Array(0),
): { code: number; printed: string; file: Uint8Array } {
  const output = new MemoryFile();
  const run = new WasiRun(['flite', ...args], output, new MemoryFile(input));
  const code = run.start(module);
  return { code, printed: run.printed, file: output.bytes() };
}

/** Far more than one piece of text can give; past it flite is told that the disk is full. */
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

const ERRNO_SUCCESS = 0;
const ERRNO_BADF = 8;
const ERRNO_NOSPC = 51;
const ERRNO_SPIPE = 70;
const FILE_TYPE_CHARACTER_DEVICE = 2;
const FILE_TYPE_DIRECTORY = 3;
const FILE_TYPE_REGULAR = 4;
const ALL_RIGHTS = 0x1fff_ffffn;
const OUTPUT_FOLDER = new TextEncoder().encode('/out');
const STDOUT_FD = 1;
/** The first descriptors after the standard three: the folder, and the two files in it. */
const FOLDER_FD = 3;
const FILE_FD = 4;
const INPUT_FD = 5;
const INPUT_NAME = 'words';
const FILE_TYPES: Partial<Record<number, number>> = {
  [FOLDER_FD]: FILE_TYPE_DIRECTORY,
  [FILE_FD]: FILE_TYPE_REGULAR,
  [INPUT_FD]: FILE_TYPE_REGULAR,
};

class MemoryFile {
  #content: Uint8Array;
  #length: number;
  #position = 0;

  constructor(content?: Uint8Array) {
    this.#content = content ?? new Uint8Array(256 * 1024);
    this.#length = content?.length ?? 0;
  }

  read(bytes: number): Uint8Array {
    const part = this.#content.subarray(this.#position, Math.min(this.#position + bytes, this.#length));
    this.#position += part.length;
    return part;
  }

  write(part: Uint8Array): boolean {
    const end = this.#position + part.length;
    if (end > MAX_OUTPUT_BYTES) return false;
    if (end > this.#content.length) {
      const larger = new Uint8Array(Math.max(end, this.#content.length * 2));
      larger.set(this.#content.subarray(0, this.#length));
      this.#content = larger;
    }
    this.#content.set(part, this.#position);
    this.#position = end;
    this.#length = Math.max(this.#length, end);
    return true;
  }

  /** @param whence 0 from the start, 1 from here, 2 from the end */
  seek(offset: number, whence: number): number {
    const base = whence === 0 ? 0 : whence === 1 ? this.#position : this.#length;
    this.#position = Math.min(Math.max(0, base + offset), MAX_OUTPUT_BYTES);
    return this.#position;
  }

  bytes(): Uint8Array {
    return this.#content.subarray(0, this.#length);
  }
}

/** How the program leaves its own stack. */
class ProgramExit extends Error {
  readonly code: number;

  constructor(code: number) {
    super('exit');
    this.code = code;
  }
}

/** The thirteen calls that flite makes. Each returns a WASI errno. */
class WasiRun {
  readonly #args: Uint8Array[];
  readonly #output: MemoryFile;
  readonly #input: MemoryFile;
  #printed: Uint8Array[] = [];
  #memory: WebAssembly.Memory | undefined;

  constructor(args: readonly string[], output: MemoryFile, input: MemoryFile) {
    const encoder = new TextEncoder();
    this.#args = args.map((arg) => encoder.encode(`${arg}\0`));
    this.#output = output;
    this.#input = input;
  }

  get printed(): string {
    return this.#printed.map((part) => new TextDecoder().decode(part)).join('');
  }

  /** @returns the exit code */
  start(module: WebAssembly.Module): number {
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: this.#calls() });
    this.#memory = instance.exports.memory as WebAssembly.Memory;
    try {
      (instance.exports._start as () => void)();
      return 0;
    } catch (error) {
      if (error instanceof ProgramExit) return error.code;
      throw error;
    }
  }

  // Made anew for every call, because memory that grew has another buffer.
  get #bytes(): Uint8Array {
    const { buffer } = this.#memory!;
    return new Uint8Array(buffer, 0, buffer.byteLength);
  }

  get #view(): DataView {
    const { buffer } = this.#memory!;
    return new DataView(buffer, 0, buffer.byteLength);
  }

  #calls(): Record<string, (...args: never[]) => number> {
    return {
      args_sizes_get: (countAt: number, sizeAt: number) => {
        this.#view.setUint32(countAt, this.#args.length, true);
        const size = this.#args.reduce((sum, arg) => sum + arg.length, 0);
        this.#view.setUint32(sizeAt, size, true);
        return ERRNO_SUCCESS;
      },
      args_get: (pointersAt: number, textAt: number) => {
        let at = textAt;
        this.#args.forEach((arg, i) => {
          this.#view.setUint32(pointersAt + 4 * i, at, true);
          this.#bytes.set(arg, at);
          at += arg.length;
        });
        return ERRNO_SUCCESS;
      },
      clock_time_get: (_clock: number, _precision: bigint, at: number) => {
        this.#view.setBigUint64(at, 0n, true);
        return ERRNO_SUCCESS;
      },
      fd_close: () => ERRNO_SUCCESS,
      fd_fdstat_get: (fd: number, at: number) => {
        if (fd > INPUT_FD) return ERRNO_BADF;
        this.#bytes.fill(0, at, at + 24);
        this.#view.setUint8(at, FILE_TYPES[fd] ?? FILE_TYPE_CHARACTER_DEVICE);
        this.#view.setBigUint64(at + 8, ALL_RIGHTS, true);
        this.#view.setBigUint64(at + 16, ALL_RIGHTS, true);
        return ERRNO_SUCCESS;
      },
      fd_fdstat_set_flags: () => ERRNO_SUCCESS,
      fd_prestat_get: (fd: number, at: number) => {
        if (fd !== FOLDER_FD) return ERRNO_BADF;
        this.#view.setUint32(at, 0, true);
        this.#view.setUint32(at + 4, OUTPUT_FOLDER.length, true);
        return ERRNO_SUCCESS;
      },
      fd_prestat_dir_name: (fd: number, at: number, length: number) => {
        if (fd !== FOLDER_FD) return ERRNO_BADF;
        this.#bytes.set(OUTPUT_FOLDER.subarray(0, length), at);
        return ERRNO_SUCCESS;
      },
      fd_read: (fd: number, vectorsAt: number, count: number, readAt: number) => {
        let read = 0;
        for (let i = 0; fd === INPUT_FD && i < count; i++) {
          const part = this.#input.read(this.#view.getUint32(vectorsAt + 8 * i + 4, true));
          this.#bytes.set(part, this.#view.getUint32(vectorsAt + 8 * i, true));
          read += part.length;
        }
        this.#view.setUint32(readAt, read, true);
        return ERRNO_SUCCESS;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, at: number) => {
        const file = fd === FILE_FD ? this.#output : fd === INPUT_FD ? this.#input : undefined;
        if (!file) return ERRNO_SPIPE;
        this.#view.setBigUint64(at, BigInt(file.seek(Number(offset), whence)), true);
        return ERRNO_SUCCESS;
      },
      fd_write: (fd: number, vectorsAt: number, count: number, writtenAt: number) => {
        let written = 0;
        for (let i = 0; i < count; i++) {
          const at = this.#view.getUint32(vectorsAt + 8 * i, true);
          const length = this.#view.getUint32(vectorsAt + 8 * i + 4, true);
          const part = this.#bytes.subarray(at, at + length);
          if (fd === FILE_FD && !this.#output.write(part)) return ERRNO_NOSPC;
          if (fd === STDOUT_FD) this.#printed.push(part.slice());
          written += length;
        }
        this.#view.setUint32(writtenAt, written, true);
        return ERRNO_SUCCESS;
      },
      path_open: (
        _folder: number,
        _lookup: number,
        pathAt: number,
        pathLength: number,
        _flags: number,
        _rights: bigint,
        _inheriting: bigint,
        _fdFlags: number,
        fdAt: number,
      ) => {
        const name = new TextDecoder().decode(this.#bytes.subarray(pathAt, pathAt + pathLength));
        this.#view.setUint32(fdAt, name === INPUT_NAME ? INPUT_FD : FILE_FD, true);
        return ERRNO_SUCCESS;
      },
      proc_exit: (code: number) => {
        throw new ProgramExit(code);
      },
    };
  }
}
