import { systemClock, type Clock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import type { HttpAnswer } from '../server/emulator-server.ts';
import { FaultPlan } from '../server/faults.ts';
import { DialledTelephone, telephoneByNumber, type DialPace, type Telephones } from '../callers/telephone.ts';
import { openCarrierApi, type CarrierApiRequest, type NoAnswer } from './carrier-api.ts';
import type { EmulatedNumbers } from './number-stock.ts';
import { CARRIER_FAULTS, type CallbackConditions } from './carrier-webhook.ts';
import type {
  CarrierEmulator,
  ConnectingCall,
  EmulatedCall,
  PlaceCallOptions,
} from '../callers/emulated-call.ts';

/** Calls that are over and still found, as a carrier's records are. */
const KEPT_ENDED_CALLS = 1000;

/** What the REST API dials with, and where its calls are found. */
export interface CarrierCalls<Call> {
  readonly clock: Clock;
  readonly conditions: CallbackConditions;
  /** All that are found: those that are live, and the last that are over. Newest first. */
  list(): Call[];
  /**
   * Dials, and answers as the vendor does; or leaves the request without an answer, where that is to go wrong.
   * @param to E.164
   * @param options `refused`: the vendor's answer for a number that it does not dial
   */
  dial(
    to: string,
    options: {
      ringTimeoutMs: number;
      pace?: DialPace;
      refused: () => HttpAnswer;
      place: (telephone: DialledTelephone) => Call;
      answer: (call: Call) => HttpAnswer;
    },
  ): HttpAnswer | NoAnswer;
}

/** Opens an emulated account at a carrier: the calls it places, and the REST API that dials, finds and commands them. */
export async function openCarrierAccount<
  Call extends ConnectingCall,
  Place extends PlaceCallOptions,
>(options: {
  name: string;
  /** By the names the carrier gives them. */
  credentials: Record<string, string>;
  /** What `Authorization` must be. */
  authorization: string;
  /** The vendor's body for a refusal. */
  refusal: (status: number) => object;
  /** What answers whether credentials are right. */
  account: { path: string; body: () => object };
  /** What the account has and may buy. */
  numbers: EmulatedNumbers;
  /** Requests that are about no live call: dials, look-ups, numbers. @returns undefined for others */
  route: (request: CarrierApiRequest, calls: CarrierCalls<Call>) => HttpAnswer | NoAnswer | undefined;
  /** @returns the id of the call that a request is about, and what of it */
  findCall: (request: CarrierApiRequest) => { callId: string; resource: string } | undefined;
  /** The vendor's body where there is no such call. */
  notFound: (request: CarrierApiRequest) => object;
  command: (call: Call, resource: string, request: CarrierApiRequest) => HttpAnswer;
  dial: (place: Place, conditions: CallbackConditions) => Call;
  /** How long the API knows a call that has ended. */
  keepEndedMs?: number;
  clock?: Clock | undefined;
}): Promise<Omit<CarrierEmulator, 'placeCall'> & { placeCall(place: Place): Promise<EmulatedCall> }> {
  const { name, credentials, authorization, refusal, account, keepEndedMs = 0 } = options;
  const { clock = systemClock } = options;
  const faults = new FaultPlan(CARRIER_FAULTS, seededRandom(1));
  const closing = new AbortController();
  const conditions: CallbackConditions = { faults, clock, signal: closing.signal };
  let telephones: Telephones = telephoneByNumber;
  const live = new Map<string, Call>();
  /** Those that have ended included. */
  const known: Call[] = [];
  const dialled: Call[] = [];
  const waiting: PromiseWithResolvers<Call>[] = [];

  const forget = (call: Call) => void live.delete(call.callId);
  function add(call: Call): void {
    live.set(call.callId, call);
    known.unshift(call);
    known.length = Math.min(known.length, KEPT_ENDED_CALLS);
    void call.ended.then(() => {
      if (keepEndedMs === 0) forget(call);
      else setTimeout(forget, keepEndedMs, call).unref();
    });
  }

  const calls: CarrierCalls<Call> = {
    clock,
    conditions,
    list: () => [...known],
    dial(to, { ringTimeoutMs, pace, refused, place, answer }) {
      if (faults.take(['dial_lost'])) return 'broken';
      const telephone = telephones(to);
      if (telephone.does === 'invalid') return refused();
      const queuedMs = pace?.take() ?? 0;
      const call = place(new DialledTelephone({ telephone, queuedMs, ringTimeoutMs, clock }));
      add(call);
      const taker = waiting.shift();
      if (taker) taker.resolve(call);
      else dialled.push(call);
      dialled.splice(0, dialled.length - KEPT_ENDED_CALLS);
      const unanswered = faults.take(['dial_unanswered']) ?? telephone.requestUnanswered;
      return unanswered ? 'unanswered' : answer(call);
    },
  };

  const api = await openCarrierApi({
    name,
    authorization,
    refusal,
    faults,
    handle(request) {
      if (request.method === 'GET' && request.path === account.path)
        return { status: 200, body: account.body() };
      const answer = options.route(request, calls);
      if (answer) return answer;
      const found = options.findCall(request);
      const call = live.get(found?.callId ?? '');
      return found && call
        ? options.command(call, found.resource, request)
        : { status: 404, body: options.notFound(request) };
    },
  });
  return {
    apiUrl: api.url,
    credentials,
    numbers: options.numbers,
    setFaults: (list) => faults.set(list),
    setTelephones: (all) => void (telephones = all),
    async placeCall(place) {
      const call = options.dial(place, conditions);
      add(call);
      await call.connected();
      return call;
    },
    dialledCall() {
      const call = dialled.shift();
      if (call) return Promise.resolve(call);
      const taker = Promise.withResolvers<Call>();
      waiting.push(taker);
      return taker.promise;
    },
    async [Symbol.asyncDispose]() {
      closing.abort(new Error('The emulator is closing.'));
      for (const taker of waiting.splice(0)) taker.reject(closing.signal.reason);
      for (const call of live.values()) call.hangUp();
      await Promise.all([...live.values()].map((call) => call.ended));
      await api[Symbol.asyncDispose]();
    },
  };
}
