import { openEmulatorServer, readBody, type HttpAnswer } from '../server/emulator-server.ts';
import { COMMON_FAULTS, FaultPlan, type Fault } from '../server/faults.ts';

const MAX_BODY_BYTES = 64 * 1024;

export interface CarrierApiRequest {
  method: string;
  /** Decoded, without the query. */
  path: string;
  body: string;
}

/** The REST API of one emulated account; every answer names it as an emulator. */
export interface CarrierApi {
  readonly url: string;
  /** Makes the API refuse, rate-limit or dawdle; see the emulators' faults. */
  setFaults(faults: readonly Fault[]): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function openCarrierApi(options: {
  name: string;
  /** What `Authorization` must be. */
  authorization: string;
  /** The vendor's body for a refusal. */
  refusal: (status: number) => object;
  handle: (request: CarrierApiRequest) => HttpAnswer | Promise<HttpAnswer>;
}): Promise<CarrierApi> {
  const faults = new FaultPlan(COMMON_FAULTS, Math.random);
  let requests = 0;
  const server = await openEmulatorServer({
    name: options.name,
    faults,
    stats: () => ({ requests }),
    refusal: (status) => ({ status, body: options.refusal(status) }),
    async onRequest({ request, url }) {
      requests++;
      if (request.headers.authorization !== options.authorization)
        return { status: 401, body: options.refusal(401) };
      const body = (await readBody(request, MAX_BODY_BYTES)).toString('utf8');
      return options.handle({ method: request.method ?? '', path: decodeURIComponent(url.pathname), body });
    },
  });
  return {
    url: server.url,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

export function basicAuthorization(user: string, password: string): string {
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}
