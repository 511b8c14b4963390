import type { Test } from 'tap';
import type { ManualClock } from '@parley/shared/time/manual-clock';
import type { StubPlatform, StubRequest } from '../../test/fixtures/stub-platform.ts';
import type { CarrierEmulator } from '../callers/emulated-call.ts';
import type { Telephone } from '../callers/telephone.ts';

/** One emulated carrier, and how its API is asked. Numbers are E.164. */
export interface DialsUnderTest {
  emulator: CarrierEmulator;
  platform: StubPlatform;
  clock: ManualClock;
  /**
   * Asks for a call that rings for 30 s at most.
   * @param options `streamless`: no stream is asked for, where that is part of the request
   * @returns HTTP status, and what the answer calls the call by
   */
  dial(
    to: string,
    options?: { signal?: AbortSignal; streamless?: boolean },
  ): Promise<{ status: number; id: string }>;
  /** Ends a call that is still ringing. @returns HTTP status */
  withdraw(id: string): Promise<number>;
  /** Whether the carrier's lists have a call to this number, and which. */
  listed(to: string): Promise<'live' | 'over' | 'none'>;
  /** What callbacks of a call without a stream tell, in order, when nobody answers. */
  callbacks: readonly string[];
  /** Which of them a request is, if it is one. */
  callback(request: StubRequest): string | undefined;
  isSigned(request: StubRequest): boolean;
  /** The end of calls, in the vendor's words. */
  ends: Record<'busy' | 'refused' | 'not_in_service' | 'rung_out' | 'withdrawn' | 'hung_up', string>;
  /** The vendor's longest ringing for a request of 30 s, ms. */
  ringMs: number;
}

const TO = '+442071230000';

/** What dialling at every emulated carrier must do. @param open a carrier with a platform that answers its calls */
export function testDials(t: Test, open: (t: Test) => Promise<DialsUnderTest>): void {
  const telephone = (carrier: DialsUnderTest, does: Telephone['does'], afterMs = 2000) =>
    carrier.emulator.setTelephones(() => ({ does, afterMs }));

  void t.test('a telephone that answers is streamed to, and may hang up', async (t) => {
    const carrier = await open(t);
    const { emulator, platform, clock } = carrier;
    telephone(carrier, 'answer');
    const { status, id } = await carrier.dial(TO);
    t.match(String(status), /^20[01]$/);
    t.ok(id);
    const call = await emulator.dialledCall();
    await platform.request((one) => carrier.callback(one) === carrier.callbacks[0]);
    t.equal(await carrier.listed(TO), 'live');
    await ticks(clock);
    clock.advance(2000);
    await call.connected();
    const stream = await platform.stream();
    t.match(await stream.event('start'), {}, 'the stream starts');
    call.hangUp();
    t.match(await call.ended, { source: 'caller', answered: true, cause: carrier.ends.hung_up });
    t.equal(await carrier.listed(TO), 'over');
    for (const sent of platform.requests) t.ok(carrier.isSigned(sent), `${sent.path} is signed`);
    t.equal(clock.pendingTimers, 0);
  });

  void t.test('telephones that are not answered', async (t) => {
    const cases = [
      ['busy', 'busy', 2000],
      ['refuse', 'refused', 2000],
      ['not_in_service', 'not_in_service', 0],
      ['ring', 'rung_out', undefined],
    ] as const;
    const carrier = await open(t);
    const { emulator, platform, clock } = carrier;
    for (const [index, [does, end, ms]] of cases.entries()) {
      telephone(carrier, does, ms ?? 0);
      await carrier.dial(`${TO.slice(0, -1)}${index}`);
      const call = await emulator.dialledCall();
      // Its turn comes, and then it rings.
      while (await running(call.ended)) clock.advance(ms === undefined ? carrier.ringMs / 10 : 1000);
      t.match(await call.ended, { answered: false, cause: carrier.ends[end] }, does);
    }
    const ends = platform.requests.filter((one) => carrier.callback(one) === carrier.callbacks.at(-1));
    t.equal(ends.length, cases.length);
    t.equal(platform.sockets.filter(({ messages }) => messages.some(isStart)).length, 0);
    t.equal(clock.pendingTimers, 0);
  });

  void t.test('a call that rings is withdrawn', async (t) => {
    const carrier = await open(t);
    telephone(carrier, 'ring');
    const { id } = await carrier.dial(TO);
    const call = await carrier.emulator.dialledCall();
    await carrier.platform.request((one) => carrier.callback(one) === carrier.callbacks[0]);
    t.match(String(await carrier.withdraw(id)), /^20[04]$/);
    t.match(await call.ended, { source: 'api', answered: false, cause: carrier.ends.withdrawn });
    await carrier.platform.request((one) => carrier.callback(one) === carrier.callbacks.at(-1));
    t.equal(carrier.clock.pendingTimers, 0);
  });

  void t.test('a number that the carrier refuses is not called', async (t) => {
    const carrier = await open(t);
    const refused = await carrier.dial('+442071230906');
    t.match(String(refused.status), /^4(00|22)$/);
    t.equal(await carrier.listed('+442071230906'), 'none');
  });

  void t.test('requests without an answer: one was taken, the other was not', async (t) => {
    const carrier = await open(t);
    const { emulator } = carrier;
    telephone(carrier, 'ring');
    emulator.setFaults([{ kind: 'dial_lost', count: 1 }]);
    await t.rejects(carrier.dial(TO));
    t.equal(await carrier.listed(TO), 'none');
    emulator.setFaults([{ kind: 'dial_unanswered', count: 1 }]);
    const patience = new AbortController();
    const asked = carrier.dial(TO, { signal: patience.signal });
    const call = await emulator.dialledCall();
    patience.abort(new Error('enough'));
    await t.rejects(asked, { message: 'enough' });
    t.equal(await carrier.listed(TO), 'live');
    call.hangUp();
    await call.ended;
  });

  void t.test('callbacks are lost, late, doubled and overtaken on demand', async (t) => {
    for (const kind of ['lost', 'late', 'twice', 'overtaken'] as const) {
      const carrier = await open(t);
      const { emulator, platform, clock } = carrier;
      const [first, second] = carrier.callbacks;
      telephone(carrier, 'busy');
      emulator.setFaults([{ kind: `callback_${kind}`, count: 1, after: 0, delayMs: 60_000 }]);
      await carrier.dial(TO, { streamless: true });
      const call = await emulator.dialledCall();
      await ticks(clock);
      clock.advance(2000);
      await platform.request((one) => carrier.callback(one) === carrier.callbacks.at(-1));
      while (await running(call.ended)) clock.advance(10_000);
      const told = platform.requests.flatMap((one) => carrier.callback(one) ?? []);
      const others = told.filter((one) => one !== first);
      t.same(others.sort(), carrier.callbacks.slice(1).sort(), `${kind}: the others come once`);
      const times = { lost: 0, late: 1, twice: 2, overtaken: 1 }[kind];
      t.equal(told.filter((one) => one === first).length, times, kind);
      if (kind === 'late') t.equal(told.at(-1), first, 'it comes when the call is over');
      if (kind === 'overtaken') t.ok(told.indexOf(first!) > told.indexOf(second!), 'it comes behind');
    }
  });
}

const isStart = (message: Record<string, unknown>) => message['event'] === 'start';

/** Waits until somebody waits for the clock. */
async function ticks(clock: ManualClock): Promise<void> {
  while (clock.pendingTimers === 0) await nextTurn();
}

async function running(ended: Promise<unknown>): Promise<boolean> {
  return Promise.race([ended.then(() => false), nextTurn().then(() => true)]);
}

const nextTurn = () => new Promise<void>((resolve) => void setImmediate(resolve));
