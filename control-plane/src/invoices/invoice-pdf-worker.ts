import { parentPort } from 'node:worker_threads';
import { printInvoice, type PrintedInvoice } from './invoice-pdf.ts';

/** To and from the thread that prints; see invoice-printer.ts. */
export interface PrintRequest {
  id: number;
  invoice: PrintedInvoice;
}
export type PrintReply = { id: number; pdf: Uint8Array } | { id: number; error: string };

const port = parentPort!;

port.on('message', ({ id, invoice }: PrintRequest) => {
  void printInvoice(invoice).then(
    (pdf) => port.postMessage({ id, pdf } satisfies PrintReply),
    (error: unknown) =>
      port.postMessage({
        id,
        error: error instanceof Error ? error.message : String(error),
      } satisfies PrintReply),
  );
});
