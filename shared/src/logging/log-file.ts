import { close, openSync, write, writeSync } from 'node:fs';

/** Lines that wait for the disk: beyond, new ones are dropped and counted. */
const MAX_WAITING_BYTES = 1024 * 1024;
/** One write to the disk. */
const MAX_CHUNK_BYTES = 64 * 1024;

export interface LogFileOptions {
  path: string;
  /** Told of the first write that failed. May log: the line waits like all others. */
  onFailure: (error: Error) => void;
  /** Told of the first write that succeeded again, and how many lines were dropped meanwhile. May log. */
  onRecovery: (dropped: number) => void;
  /** How bytes reach the disk: for tests. */
  write?: typeof write;
}

/**
 * A destination for a logger: a file whose disk may fill up. Lines are written in the background, in order, and are
 * tried again with the next line when a write fails; nothing here throws, waits or ends the process. (pino's own
 * destination emits an error that ends the process, and on the way out waits until the disk has space.)
 */
export class LogFile {
  readonly #fd: number;
  readonly #options: LogFileOptions;
  readonly #write: typeof write;
  readonly #lines: Buffer[] = [];
  #waitingBytes = 0;
  /** Handed to the disk; what was written of it is cut off. */
  #chunk: Buffer | undefined;
  #writing = false;
  #failed = false;
  #dropped = 0;
  #closed: (() => void) | undefined;
  readonly #onExit = () => {
    // Perhaps it is on its way to the disk at this moment: rather once than twice.
    if (this.#writing) this.#chunk = undefined;
    this.#writeRest();
  };

  /** Opens the file anew, readable by its owner alone. @throws as `openSync` does */
  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#write = options.write ?? write;
    this.#fd = openSync(options.path, 'w', 0o600);
    process.once('exit', this.#onExit);
  }

  /** @param line with its line break */
  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#closed || this.#waitingBytes + bytes.length > MAX_WAITING_BYTES) {
      this.#dropped += 1;
    } else {
      this.#waitingBytes += bytes.length;
      this.#lines.push(bytes);
    }
    this.#next();
  }

  /** Writes what waits, as far as the disk takes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    process.off('exit', this.#onExit);
    await new Promise<void>((resolve) => {
      this.#closed = resolve;
      if (!this.#writing) resolve();
    });
    this.#writeRest();
    await new Promise<void>((resolve) => close(this.#fd, () => resolve()));
  }

  #next(): void {
    if (this.#writing || this.#closed) return;
    this.#chunk ??= this.#takeChunk();
    if (!this.#chunk) return;
    this.#writing = true;
    this.#write(this.#fd, this.#chunk, 0, this.#chunk.length, null, (error, written) =>
      this.#onWritten(error, written),
    );
  }

  #takeChunk(): Buffer | undefined {
    let bytes = 0;
    let count = 0;
    while (
      count < this.#lines.length &&
      (count === 0 || bytes + this.#lines[count]!.length <= MAX_CHUNK_BYTES)
    )
      bytes += this.#lines[count++]!.length;
    return count === 0 ? undefined : Buffer.concat(this.#lines.splice(0, count), bytes);
  }

  #onWritten(error: Error | null, written: number): void {
    this.#writing = false;
    if (!error) this.#advance(written);
    if (this.#closed) {
      this.#closed();
      return;
    }
    if (error) {
      // The next line tries again.
      if (!this.#failed) {
        this.#failed = true;
        this.#options.onFailure(error);
      }
      return;
    }
    if (this.#failed && !this.#chunk) {
      const dropped = this.#dropped;
      this.#failed = false;
      this.#dropped = 0;
      this.#options.onRecovery(dropped);
    }
    this.#next();
  }

  #advance(written: number): void {
    this.#waitingBytes -= written;
    const rest = this.#chunk!.subarray(written);
    this.#chunk = rest.length > 0 ? rest : undefined;
  }

  #writeRest(): void {
    try {
      while ((this.#chunk ??= this.#takeChunk())) this.#advance(writeSync(this.#fd, this.#chunk));
    } catch {
      // The disk is full, and the process ends: nobody is left who could be told.
    }
  }
}
