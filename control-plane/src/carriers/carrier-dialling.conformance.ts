import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { CarrierEmulator, ConnectingCall } from '@parley/emulators/callers/emulated-call';
import type { Telephone } from '@parley/emulators/callers/telephone';
import { ManualClock } from '@parley/shared/time/manual-clock';
import {
  openStubPlatform,
  type StubPlatform,
  type StubRequest,
} from '../../../emulators/test/fixtures/stub-platform.ts';
import {
  DIAL_SETTLED_MS,
  dialVerdict,
  type DialAnswer,
  type DialRequest,
  type SentDial,
} from './carrier-dialling.ts';
import { CarrierError, type Carrier, type CarrierCallback } from './carrier.ts';

/** How one carrier's signalling is opened, and its emulator. */
export interface DiallingUnderTest {
  from: string;
  openEmulator(clock: ManualClock): Promise<CarrierEmulator>;
  /** @param wrong with credentials that the emulator does not know */
  openCarrier(
    emulator: CarrierEmulator,
    options: { clock: ManualClock; apiUrl: string; wrong?: boolean },
  ): Carrier;
  /** Whether a second call is queued by the carrier while the first begins. */
  queues: boolean;
}

const TO = '+442071230000';
const RING_SECONDS = 30;
/** Longer than any request may take. */
const NO_ANSWER_MS = 8000;

/** What outbound calls must be at every carrier. */
export function testCarrierDialling(t: Test, under: DiallingUnderTest): void {
  async function open(t: Test) {
    const clock = new ManualClock();
    const emulator = await under.openEmulator(clock);
    const carrier = under.openCarrier(emulator, { clock, apiUrl: emulator.apiUrl });
    const callbacks: CarrierCallback[] = [];
    const platform: StubPlatform = await openStubPlatform(async (request) => {
      const signed = asCarrierRequest(platform, request);
      t.ok(carrier.verifyWebhook(signed), `${request.path} is signed`);
      const callback = carrier.parseCallback(signed);
      if (callback) callbacks.push(callback);
      if (callback?.type !== 'incoming') return carrier.acknowledge().body;
      t.equal(callback.direction, 'outbound');
      const target = { streamUrl: `${platform.wsUrl}/media/T1`, statusUrl: `${platform.url}/stream` };
      return (await carrier.answer(callback.carrierCallId, target)).body;
    });
    t.teardown(async () => {
      await emulator[Symbol.asyncDispose]();
      await platform[Symbol.asyncDispose]();
    });
    const request = (dialId: string, to: string): DialRequest => ({
      ...{ dialId, to, from: under.from },
      answerUrl: `${platform.url}/voice?dial=${dialId}`,
      statusUrl: `${platform.url}/${carrier.answersByCommand ? 'voice' : 'status'}?dial=${dialId}`,
      machineUrl: `${platform.url}/amd?dial=${dialId}`,
      ...{ ringTimeoutSeconds: RING_SECONDS, timeLimitSeconds: 3600 },
      streamUrl: carrier.answersByCommand ? `${platform.wsUrl}/media/T1` : null,
    });
    const dial = (dialId = 'dial-1', to = TO, signal?: AbortSignal) =>
      carrier.dialling.dial(request(dialId, to), signal);
    const sent = (dialId = 'dial-1', to = TO): SentDial => ({
      ...{ dialId, to, from: under.from, sentAtMs: clock.now() },
    });
    const telephone = (does: Telephone['does'], afterMs = 2000, machine?: Telephone['machine']) =>
      emulator.setTelephones(() => ({ does, afterMs, ...(machine && { machine }) }));
    return { clock, emulator, carrier, platform, callbacks, request, dial, sent, telephone };
  }

  void t.test('the verdict of machine detection comes while the call goes on', async (t) => {
    const { clock, emulator, carrier, platform, callbacks, dial, telephone } = await open(t);
    telephone('answer', 2000, { verdict: 'machine', afterMs: 3000, beepAfterMs: 8000 });
    await dial();
    const call = await emulator.dialledCall();
    await rings(clock);
    clock.advance(2000);
    await call.connected();
    await (await platform.stream()).event('start');
    clock.advance(6000);
    await carrier.hangup(call.callId);
    await call.ended;
    const verdicts = callbacks.filter(({ type }) => type === 'machine');
    t.match(verdicts[0], { carrierCallId: call.callId, verdict: 'machine', beep: false });
    t.ok(verdicts.slice(1).every((one) => one.type === 'machine' && one.beep));
  });

  void t.test('somebody answers: the call is known by its callbacks, and its audio flows', async (t) => {
    const { clock, emulator, carrier, platform, callbacks, dial, sent, telephone } = await open(t);
    telephone('answer');
    const trace = sent();
    const answer = await dial();
    t.match(answer, { placed: 'yes' });
    const call = await emulator.dialledCall();
    await rings(clock);
    clock.advance(2000);
    await call.connected();
    await (await platform.stream()).event('start');
    await carrier.hangup(call.callId);
    t.match(await call.ended, { source: 'api', answered: true });
    const ended = callbacks.filter(({ type }) => type === 'ended');
    t.match(ended, [{ carrierCallId: call.callId, failure: null }]);
    t.not(await carrier.dialling.wasAnswered?.(trace), false, 'it was answered');
    const ids = callbacks.map(({ carrierCallId }) => carrierCallId);
    t.same([...new Set(ids)], [call.callId], 'all are about the one call');
    if (answer.placed === 'yes' && answer.carrierCallId !== null) t.equal(answer.carrierCallId, call.callId);
    await t.resolves(carrier.dialling.cancel({ carrierCallId: call.callId, requestId: null }), 'it is over');
    t.equal(clock.pendingTimers, 0, 'no request has left a timer');
  });

  void t.test('why nobody answered, in our words', async (t) => {
    const { clock, emulator, carrier, callbacks, dial, sent, telephone } = await open(t);
    const trace = sent();
    const cases = [
      ['busy', 'busy'],
      ['refuse', 'rejected'],
      ['not_in_service', 'invalid_number'],
      ['ring', 'no_answer'],
    ] as const;
    for (const [does, failure] of cases) {
      telephone(does);
      await dial(`dial-${does}`);
      const call = await emulator.dialledCall();
      await passTime(clock, call);
      const ended = callbacks.filter(({ type }) => type === 'ended');
      t.match(ended.at(-1), { carrierCallId: call.callId, failure }, does);
    }
    t.not(await carrier.dialling.wasAnswered?.(trace), true, 'none of them was answered');
  });

  void t.test('what is certainly not placed', async (t) => {
    const { clock, emulator, carrier, platform, dial, request } = await open(t);
    emulator.setTelephones(() => ({ does: 'invalid', afterMs: 0 }));
    t.match(await dial(), { placed: 'no', failure: 'invalid_number', code: 'refused', again: false });
    emulator.setFaults([{ kind: 'rate_limit', count: 1 }]);
    t.match(await dial(), { placed: 'no', code: 'rate_limit', again: true }, 'it may be dialled again');
    const wrong = under.openCarrier(emulator, { clock, apiUrl: emulator.apiUrl, wrong: true });
    t.match(await wrong.dialling.dial(request('d', TO)), { placed: 'no', code: 'auth', again: false });
    const nobody = under.openCarrier(emulator, { clock, apiUrl: await closedUrl() });
    t.match(await nobody.dialling.dial(request('d', TO)), {
      placed: 'no',
      failure: 'carrier_error',
      code: 'unavailable',
      again: true,
    });
    t.same(platform.requests, []);
    t.same(await carrier.dialling.find({ ...request('d', TO), sentAtMs: clock.now() }), []);
  });

  void t.test('a request that was taken and never answered is looked up, not repeated', async (t) => {
    const { clock, emulator, carrier, callbacks, dial, sent, telephone } = await open(t);
    telephone('ring');
    emulator.setFaults([{ kind: 'dial_unanswered', count: 1 }]);
    const trace = sent();
    const asked = dial();
    const call = await emulator.dialledCall();
    clock.advance(NO_ANSWER_MS);
    t.match(await asked, { placed: 'unknown', code: 'timeout' });
    const found = await carrier.dialling.find(trace);
    t.match(found, [{ carrierCallId: call.callId, stage: 'live', end: null }]);
    const late = { nowMs: clock.now() + 2 * DIAL_SETTLED_MS, taken: new Set<string>() };
    t.match(dialVerdict(trace, found, late), { verdict: 'placed', call: { carrierCallId: call.callId } });
    await carrier.dialling.cancel({ carrierCallId: call.callId, requestId: null });
    t.match(await call.ended, { source: 'api', answered: false });
    const ended = callbacks.filter(({ type }) => type === 'ended');
    t.match(ended, [{ carrierCallId: call.callId, failure: 'no_answer' }]);
    t.match(await carrier.dialling.find(trace), [{ stage: 'over' }], 'it is found when it is over, too');
  });

  void t.test('a request that got lost is not placed, but not at once', async (t) => {
    const { clock, emulator, carrier, dial, sent } = await open(t);
    for (const fault of [{ kind: 'dial_lost' }, { kind: 'refuse', status: 503 }] as const) {
      emulator.setFaults([{ ...fault, count: 1 }]);
      const trace = sent();
      t.match(await dial(), { placed: 'unknown', code: 'unavailable' }, fault.kind);
      const found = await carrier.dialling.find(trace);
      t.same(found, []);
      const at = (ms: number) =>
        dialVerdict(trace, found, { nowMs: trace.sentAtMs + ms, taken: new Set() }).verdict;
      t.equal(at(DIAL_SETTLED_MS - 1), 'unknown');
      t.equal(at(DIAL_SETTLED_MS), 'not_placed');
    }
    t.equal(clock.pendingTimers, 0);
  });

  void t.test('a look-up that fails says nothing', async (t) => {
    const { clock, emulator, carrier, request, sent } = await open(t);
    emulator.setFaults([{ kind: 'refuse', status: 500, count: 1 }]);
    await t.rejects(carrier.dialling.find(sent()), CarrierError);
    emulator.setFaults([{ kind: 'slow_handshake', delayMs: 600_000 }]);
    const stopped = new AbortController();
    const asked = carrier.dialling.find(sent(), stopped.signal);
    stopped.abort(new Error('enough'));
    await t.rejects(asked, { message: 'enough' });
    const dialled = await carrier.dialling.dial(request('d', TO), stopped.signal);
    t.match(dialled, { placed: 'unknown', code: 'aborted' });
    const slow = carrier.dialling.find(sent());
    await rings(clock);
    clock.advance(NO_ANSWER_MS);
    await t.rejects(slow, { code: 'timeout' });
  });

  void t.test('a call is found in the queue, while it rings, and with its end', async (t) => {
    const { clock, emulator, carrier, dial, sent, telephone } = await open(t);
    telephone('busy', 10_000);
    const trace = sent();
    const answers = [await dial('dial-1'), await dial('dial-2', '+442071230001')];
    t.same(
      answers.map(({ placed }) => placed),
      ['yes', 'yes'],
    );
    const calls = [await emulator.dialledCall(), await emulator.dialledCall()];
    const second = sent('dial-2', '+442071230001');
    t.match(await carrier.dialling.find(trace), [{ carrierCallId: calls[0]!.callId, stage: 'live' }]);
    const stage = under.queues ? 'queued' : 'live';
    t.match(await carrier.dialling.find(second), [{ carrierCallId: calls[1]!.callId, stage }]);
    for (const call of calls) await passTime(clock, call);
    const [over, ...others] = await carrier.dialling.find(trace);
    t.same(others, []);
    t.equal(over?.stage, 'over');
    // Not every carrier's records hold more than that.
    if (over?.end) t.equal(over.end.failure, 'busy');
  });

  void t.test('calls of other dials between the same numbers are told apart', async (t) => {
    const { clock, emulator, carrier, dial, sent, telephone } = await open(t);
    telephone('ring');
    const trace = sent();
    await dial('dial-1');
    await dial('dial-2');
    const calls = [await emulator.dialledCall(), await emulator.dialledCall()];
    const nowMs = clock.now() + 2 * DIAL_SETTLED_MS;
    const found = await carrier.dialling.find(trace);
    const verdict = (taken: string[]) => dialVerdict(trace, found, { nowMs, taken: new Set(taken) }).verdict;
    // Where the carrier keeps our id it is one; else it may be either, until it is known whose the other is.
    t.equal(verdict([]), found.length === 1 ? 'placed' : 'unknown');
    t.equal(verdict([calls[1]!.callId]), 'placed');
    for (const call of calls) call.hangUp();
    await Promise.all(calls.map(({ ended }) => ended));
  });

  void t.test('a call that rings is cancelled by what the answer named it', async (t) => {
    const { emulator, carrier, dial, telephone } = await open(t);
    telephone('ring');
    const answer: DialAnswer = await dial();
    const call = await emulator.dialledCall();
    if (answer.placed !== 'yes') {
      t.fail('it is placed');
      return;
    }
    await carrier.dialling.cancel(answer);
    t.match(await call.ended, { source: 'api', answered: false });
    await t.resolves(carrier.dialling.cancel(answer), 'a second time does nothing');
  });

  void t.test('a call is cancelled in the queue, and when it was answered meanwhile', async (t) => {
    const { clock, emulator, carrier, dial, telephone } = await open(t);
    telephone('answer', 2000);
    const answers = [await dial('dial-1'), await dial('dial-2')];
    const [first, second] = [await emulator.dialledCall(), await emulator.dialledCall()];
    const ids = (call: ConnectingCall, answer: DialAnswer | undefined) => ({
      carrierCallId: call.callId,
      requestId: answer?.placed === 'yes' ? answer.requestId : null,
    });
    await carrier.dialling.cancel(ids(second, answers[1]));
    t.match(await second.ended, { source: 'api', answered: false });
    await rings(clock);
    clock.advance(2000);
    await first.connected();
    await carrier.dialling.cancel(ids(first, answers[0]));
    t.match(await first.ended, { source: 'api', answered: true });
    t.equal(clock.pendingTimers, 0);
  });
}

function asCarrierRequest(platform: StubPlatform, { path, headers, raw }: StubRequest) {
  return {
    method: 'POST' as const,
    url: platform.url + path,
    headers: headers as Record<string, string | undefined>,
    body: Buffer.from(raw),
  };
}

/** Waits until somebody waits for the clock. */
async function rings(clock: ManualClock): Promise<void> {
  while (clock.pendingTimers === 0) await nextTurn();
}

/** Lets it ring to the end. */
async function passTime(clock: ManualClock, call: ConnectingCall): Promise<void> {
  const over = call.ended.then(() => true);
  while (!(await Promise.race([over, nextTurn().then(() => false)]))) clock.advance(1000);
}

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));

/** An address where nobody listens. */
async function closedUrl(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return `http://127.0.0.1:${port}`;
}
