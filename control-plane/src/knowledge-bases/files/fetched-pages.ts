import { AppError } from '@parley/shared/errors/app-error';
import { OutboundFailedError, OutboundRefusedError } from '@parley/shared/http/outbound-errors';
import type { SafeFetch, SafeResponse } from '@parley/shared/http/safe-fetch';
import { DocumentError } from '../extraction/document-error.ts';
import { DOCUMENT_FORMATS, formatOf } from './document-format.ts';
import type { KnowledgeFileRecord } from './knowledge-file-model.ts';
import type { KnowledgeStorage } from './knowledge-storage.ts';

const TIMEOUT_MS = 30_000;

type Fetched = Pick<KnowledgeFileRecord, 'mime_type' | 'size_bytes' | 'sha256' | 'storage_key'>;

/** Fetches documents from addresses, each time into the storage. */
export class FetchedPages {
  readonly #fetch: SafeFetch;
  readonly #storage: KnowledgeStorage;

  constructor(deps: { fetch: SafeFetch; storage: KnowledgeStorage }) {
    this.#fetch = deps.fetch;
    this.#storage = deps.storage;
  }

  /** For when an address is given. @throws OutboundRefusedError */
  check(url: string, orgId: string): void {
    this.#fetch.checkUrl(url, { purpose: 'tool', orgId });
  }

  /** @throws DocumentError for what the owner of the address must put right */
  async fetch(
    base: { org_id: string; _id: string },
    file: Pick<KnowledgeFileRecord, '_id' | 'url'>,
    signal: AbortSignal,
  ): Promise<Fetched> {
    const url = file.url!;
    const response = await this.#get(url, base.org_id, signal);
    if (response.status !== 200)
      throw DocumentError.because(`The address answered with the status ${response.status}.`);
    if (response.truncated) throw DocumentError.because('The document at the address is too large.');
    let mime: string;
    try {
      // What says nothing of its type is taken for a page.
      const type = response.headers['content-type'] ?? 'text/html';
      mime = DOCUMENT_FORMATS[formatOf(new URL(url).pathname, type)].mime;
    } catch (error) {
      if (error instanceof AppError)
        throw DocumentError.because('The address does not lead to a document that can be read.');
      throw error;
    }
    const storage_key = this.#storage.keyOf(base, `${file._id}.document`);
    const { sizeBytes, sha256 } = await this.#storage.write(storage_key, [response.body]);
    return { mime_type: mime, size_bytes: sizeBytes, sha256, storage_key };
  }

  async #get(url: string, orgId: string, signal: AbortSignal): Promise<SafeResponse> {
    let response: SafeResponse;
    try {
      response = await this.#fetch.request({
        ...{ url, timeoutMs: TIMEOUT_MS, signal, purpose: 'tool', orgId },
        headers: { accept: 'text/html, text/markdown, text/plain, application/pdf, */*;q=0.5' },
      });
    } catch (error) {
      if (error instanceof OutboundRefusedError || error instanceof OutboundFailedError)
        throw DocumentError.because(`The address could not be read: ${error.message}`);
      throw error;
    }
    const { location } = response.headers;
    if (response.status >= 300 && response.status <= 399 && location !== undefined)
      throw DocumentError.because(
        `The address redirects, which is not followed. Use the address that it leads to: ${leadsTo(location, url)}`,
      );
    return response;
  }
}

function leadsTo(location: string, from: string): string {
  return (URL.canParse(location, from) ? new URL(location, from).href : location).slice(0, 500);
}
