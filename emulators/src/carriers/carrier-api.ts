import { once } from 'node:events';
import { openEmulatorServer, readBody, resetConnection, type HttpAnswer } from '../server/emulator-server.ts';
import type { FaultPlan } from '../server/faults.ts';
import type { CarrierFault } from './carrier-webhook.ts';

/** A document that is uploaded. */
const MAX_BODY_BYTES = 6 * 1024 * 1024;

export interface CarrierApiRequest {
  method: string;
  /** Decoded, without the query. */
  path: string;
  query: URLSearchParams;
  body: string;
  /** The body again, where it is multipart. */
  form: FormData | undefined;
}

/** What becomes of a request that has no answer: its connection breaks, or nothing ever comes. */
export type NoAnswer = 'broken' | 'unanswered';

/** The REST API of one emulated account; every answer names it as an emulator. */
export interface CarrierApi {
  readonly url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openCarrierApi(options: {
  name: string;
  /** What `Authorization` must be. */
  authorization: string;
  /** The vendor's body for a refusal. */
  refusal: (status: number) => object;
  faults: FaultPlan<CarrierFault>;
  handle: (request: CarrierApiRequest) => HttpAnswer | NoAnswer;
}): Promise<CarrierApi> {
  let requests = 0;
  const server = await openEmulatorServer<CarrierFault>({
    name: options.name,
    faults: options.faults,
    stats: () => ({ requests }),
    refusal: (status) => ({ status, body: options.refusal(status) }),
    async onRequest({ request, url, signal }, response) {
      requests++;
      if (request.headers.authorization !== options.authorization)
        return { status: 401, body: options.refusal(401) };
      const bytes = await readBody(request, MAX_BODY_BYTES);
      const contentType = request.headers['content-type'] ?? '';
      const answer = options.handle({
        method: request.method ?? '',
        path: decodeURIComponent(url.pathname),
        query: url.searchParams,
        body: bytes.toString('utf8'),
        form: await readForm(bytes, contentType),
      });
      if (answer === 'broken') {
        resetConnection(response);
        return;
      }
      if (answer !== 'unanswered') return answer;
      if (!signal.aborted) await once(signal, 'abort');
    },
  });
  return { url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** @returns undefined for what is no multipart body, or a broken one */
async function readForm(bytes: Buffer, contentType: string): Promise<FormData | undefined> {
  if (!contentType.startsWith('multipart/form-data')) return undefined;
  const headers = { 'content-type': contentType };
  return new Response(new Uint8Array(bytes), { headers }).formData().catch(() => undefined);
}

export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
