import { parseWav } from '../audio/wav.ts';

/**
 * Runs the flite command line (a WASI program) once, in memory: no file, no environment, no clock. Node's own
 * `node:wasi` is not used, because it crashed the whole process on words of some thousand letters, where this ends in
 * an exception at worst.
 * @param module `flite.wasm`, compiled
 * @param text plain ASCII without control characters
 * @returns 16 kHz mono samples of the voice slt
 * @throws Error when the program fails; the message holds none of the text
 * @see WASI snapshot preview 1, https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md
 */
export function runFlite(module: WebAssembly.Module, text: string): Int16Array {
  const output = new MemoryFile();
  const run = new WasiRun(['flite', '-voice', 'slt', '-t', text, '-o', '/out/speech.wav'], output);
  const code = run.start(module);
  if (code !== 0) throw new Error(`flite ended with code ${code}.`);
  return parseWav(output.bytes()).samples;
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
/** The first descriptors after the standard three: the folder, and the one file in it. */
const FOLDER_FD = 3;
const FILE_FD = 4;

class MemoryFile {
  #content = new Uint8Array(256 * 1024);
  #length = 0;
  #position = 0;

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
  #memory: WebAssembly.Memory | undefined;

  constructor(args: readonly string[], output: MemoryFile) {
    const encoder = new TextEncoder();
    this.#args = args.map((arg) => encoder.encode(`${arg}\0`));
    this.#output = output;
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
        if (fd > FILE_FD) return ERRNO_BADF;
        this.#bytes.fill(0, at, at + 24);
        const type =
          fd === FOLDER_FD
            ? FILE_TYPE_DIRECTORY
            : fd === FILE_FD
              ? FILE_TYPE_REGULAR
              : FILE_TYPE_CHARACTER_DEVICE;
        this.#view.setUint8(at, type);
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
      fd_read: (_fd: number, _vectorsAt: number, _count: number, readAt: number) => {
        this.#view.setUint32(readAt, 0, true);
        return ERRNO_SUCCESS;
      },
      fd_seek: (fd: number, offset: bigint, whence: number, at: number) => {
        if (fd !== FILE_FD) return ERRNO_SPIPE;
        this.#view.setBigUint64(at, BigInt(this.#output.seek(Number(offset), whence)), true);
        return ERRNO_SUCCESS;
      },
      fd_write: (fd: number, vectorsAt: number, count: number, writtenAt: number) => {
        let written = 0;
        for (let i = 0; i < count; i++) {
          const at = this.#view.getUint32(vectorsAt + 8 * i, true);
          const length = this.#view.getUint32(vectorsAt + 8 * i + 4, true);
          // What flite prints for people is of no use here.
          if (fd === FILE_FD && !this.#output.write(this.#bytes.subarray(at, at + length)))
            return ERRNO_NOSPC;
          written += length;
        }
        this.#view.setUint32(writtenAt, written, true);
        return ERRNO_SUCCESS;
      },
      path_open: (
        _folder: number,
        _lookup: number,
        _pathAt: number,
        _pathLength: number,
        _flags: number,
        _rights: bigint,
        _inheriting: bigint,
        _fdFlags: number,
        fdAt: number,
      ) => {
        this.#view.setUint32(fdAt, FILE_FD, true);
        return ERRNO_SUCCESS;
      },
      proc_exit: (code: number) => {
        throw new ProgramExit(code);
      },
    };
  }
}
