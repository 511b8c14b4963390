import { Worker } from 'node:worker_threads';
import { UnavailableError } from '@parley/shared/errors/app-error';
import type { Clock, Timer } from '@parley/shared/time/clock';
import type { PrintedInvoice } from './invoice-pdf.ts';
import type { PrintReply, PrintRequest } from './invoice-pdf-worker.ts';

/** Invoices that are printed or wait for it, in one process. */
const MAX_WAITING = 20;
/** The longest takes seconds; what takes longer will not end. */
const PRINT_TIMEOUT_MS = 60_000;

interface Job {
  request: PrintRequest;
  resolve(pdf: Uint8Array): void;
  reject(error: Error): void;
}

/** Prints invoices one after the other, in a thread of its own that is started by the first of them. */
export class InvoicePrinter implements AsyncDisposable {
  readonly #clock: Clock;
  readonly #jobs: Job[] = [];
  #worker: Worker | undefined;
  #timer: Timer | undefined;
  #next = 0;
  #disposed = false;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** @throws UnavailableError while too many wait */
  print(invoice: PrintedInvoice): Promise<Uint8Array> {
    if (this.#disposed || this.#jobs.length >= MAX_WAITING)
      return Promise.reject(new UnavailableError('Too many invoices are being printed.'));
    return new Promise((resolve, reject) => {
      this.#jobs.push({ request: { id: this.#next++, invoice }, resolve, reject });
      if (this.#jobs.length === 1) this.#begin();
    });
  }

  /** The first of the jobs. */
  #begin(): void {
    const [job] = this.#jobs;
    if (!job) return;
    this.#worker ??= this.#start();
    const worker = this.#worker;
    this.#timer = this.#clock.setTimeout(() => void worker.terminate(), PRINT_TIMEOUT_MS);
    worker.postMessage(job.request);
  }

  #start(): Worker {
    const worker = new Worker(new URL('./invoice-pdf-worker.ts', import.meta.url), { name: 'invoices' });
    worker.on('message', (reply: PrintReply) => {
      if ('pdf' in reply) this.#end((job) => job.resolve(reply.pdf));
      else this.#end((job) => job.reject(new Error(`The invoice could not be printed: ${reply.error}`)));
    });
    // Followed by 'exit', where the job is given up.
    worker.on('error', () => undefined);
    worker.on('exit', () => {
      this.#worker = undefined;
      this.#end((job) => job.reject(new Error('The thread that prints invoices ended.')));
    });
    // It keeps no process alive.
    worker.unref();
    return worker;
  }

  #end(settle: (job: Job) => void): void {
    this.#timer?.cancel();
    const job = this.#jobs.shift();
    if (job) settle(job);
    this.#begin();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    await this.#worker?.terminate();
    for (const job of this.#jobs.splice(0))
      job.reject(new UnavailableError('The control plane is stopping.'));
    this.#timer?.cancel();
  }
}
