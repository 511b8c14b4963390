import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch } from '@parley/shared/http/safe-fetch';
import type { ProofFile } from '../carriers/carrier-complaints.ts';
import { invalid } from '../http/validation.ts';

const TIMEOUT_MS = 15_000;

/** Documents that prove consent, fetched from where an org keeps them. */
export class ProofDocuments {
  readonly #fetch: SafeFetch;

  /** @param fetch whose answers are at most as long as a proof may be */
  constructor({ fetch }: { fetch: SafeFetch }) {
    this.#fetch = fetch;
  }

  /** @throws ValidationError for what the owner of the address must put right */
  async fetch(url: string, orgId: string, signal: AbortSignal): Promise<ProofFile> {
    const wrong = (what: string, type?: string) => invalid(['body', 'opt_in_proof_url'], what, type);
    const response = await this.#fetch
      .request({ url, timeoutMs: TIMEOUT_MS, signal, purpose: 'webhook', orgId })
      .catch((error: unknown) => {
        if (error instanceof OutboundRefusedError) throw wrong(error.message, error.code);
        if (error instanceof OutboundFailedError) throw wrong('leads to a server that did not answer');
        throw error;
      });
    const contentType = response.headers['content-type'] ?? 'application/octet-stream';
    if (response.status !== 200)
      throw wrong(`leads to an answer with the status ${response.status}, not 200`);
    if (response.truncated) throw wrong('leads to a document that is larger than 5 MiB', 'too_long');
    if (response.body.length === 0) throw wrong('leads to an empty document');
    // Most of all the page of a sign-in.
    if (/^text\/html\b/i.test(contentType)) throw wrong('leads to a web page, not to a document');
    const name = new URL(url).pathname.split('/').at(-1)?.slice(-100) ?? '';
    return { name: name === '' ? 'proof' : name, contentType, content: new Uint8Array(response.body) };
  }
}
