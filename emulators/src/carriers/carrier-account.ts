import type { HttpAnswer } from '../server/emulator-server.ts';
import { openCarrierApi, type CarrierApiRequest } from './carrier-api.ts';
import type { CarrierEmulator, EmulatedCall, PlaceCallOptions } from '../callers/emulated-call.ts';

/** A call of an emulated account. */
export interface AccountCall extends EmulatedCall {
  /** Resolves when its media stream stands. @throws CallNotConnectedError */
  connected(): Promise<void>;
}

/** Opens an emulated account at a carrier: the calls it places, and the REST API that finds and commands them. */
export async function openCarrierAccount<Call extends AccountCall, Place extends PlaceCallOptions>(options: {
  name: string;
  /** By the names the carrier gives them. */
  credentials: Record<string, string>;
  /** What `Authorization` must be. */
  authorization: string;
  /** The vendor's body for a refusal. */
  refusal: (status: number) => object;
  /** What answers whether credentials are right. */
  account: { path: string; body: () => object };
  /** @returns the id of the call that a request is about, and what of it */
  findCall: (request: CarrierApiRequest) => { callId: string; resource: string } | undefined;
  /** The vendor's body where there is no such call. */
  notFound: (request: CarrierApiRequest) => object;
  command: (call: Call, resource: string, request: CarrierApiRequest) => HttpAnswer;
  dial: (place: Place) => Call;
  /** How long the API knows a call that has ended. */
  keepEndedMs?: number;
}): Promise<Omit<CarrierEmulator, 'placeCall'> & { placeCall(place: Place): Promise<EmulatedCall> }> {
  const { name, credentials, authorization, refusal, account, keepEndedMs = 0 } = options;
  const calls = new Map<string, Call>();
  const api = await openCarrierApi({
    name,
    authorization,
    refusal,
    handle(request) {
      if (request.method === 'GET' && request.path === account.path)
        return { status: 200, body: account.body() };
      const found = options.findCall(request);
      const call = calls.get(found?.callId ?? '');
      return found && call
        ? options.command(call, found.resource, request)
        : { status: 404, body: options.notFound(request) };
    },
  });
  const forget = (call: Call) => void calls.delete(call.callId);
  return {
    apiUrl: api.url,
    credentials,
    async placeCall(place) {
      const call = options.dial(place);
      calls.set(call.callId, call);
      void call.ended.then(() => {
        if (keepEndedMs === 0) forget(call);
        else setTimeout(forget, keepEndedMs, call).unref();
      });
      await call.connected();
      return call;
    },
    async [Symbol.asyncDispose]() {
      for (const call of calls.values()) call.hangUp();
      await Promise.all([...calls.values()].map((call) => call.ended));
      await api[Symbol.asyncDispose]();
    },
  };
}
