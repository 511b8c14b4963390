import t from 'tap';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import type { KnownCallEvent } from '@parley/shared/contracts/call-events';
import { createLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { SessionRecord } from '../sessions/session-record.ts';
import { placesLeft, ProviderPressure, underPressure } from './provider-pressure.ts';

const END = 60_000;
const at = (ms: number, refusals: number, used: number, windowEnd = END) => ({
  ...{ ms, refusals, used, windowEnd },
});

void t.test('more than five refusals in a window halve what is in use, once', (t) => {
  t.equal(underPressure(null, at(0, 5, 40)), null, 'five are borne');
  const first = underPressure(null, at(1000, 6, 40));
  t.match(first, { before: 40, left: 20 });
  t.equal(underPressure(first, at(2000, 30, 20)), first, 'the same window says nothing new');
  t.match(underPressure(first, at(61_000, 6, 24, 2 * END)), { before: 40, left: 12 }, 'the next one does');
  t.match(underPressure(null, at(0, 6, 1)), { left: 1 }, 'one call goes on');
  t.end();
});

void t.test('every ten seconds there is one place more, until there are as many as before', (t) => {
  const pressure = underPressure(null, at(0, 6, 8))!;
  t.same(
    [0, 9999, 10_000, 29_999, 39_999, 40_000].map((ms) => placesLeft(pressure, ms)),
    [4, 4, 5, 6, 7, null],
  );
  t.equal(underPressure(pressure, at(50_000, 6, 8)), pressure, 'its window is not taken twice');
  t.equal(underPressure(pressure, at(61_000, 0, 8, 2 * END)), null, 'and then forgotten');
  t.end();
});

void t.test('calls that use the credential have fewer places, and others as many as ever', async (t) => {
  const clock = new ManualClock(END * 1000);
  const logger = createLogger({ name: 'test', level: 'silent' });
  const bus = await openLocalBus({ path: ':memory:', logger, clock });
  t.teardown(() => bus[Symbol.asyncDispose]());
  const gate = new ProviderPressure({
    bus,
    clock,
    models: { credentialOf: (org, model) => Promise.resolve(model === 'own' ? null : `${org}-${model}`) },
  });
  const session = (llm_id: string) =>
    ({
      ...{ _id: llm_id, org_id: 'org', project_id: 'prj', llm_id, stt_id: 'own', tts_id: 'voice' },
    }) as unknown as SessionRecord;
  const limits = async (llm: string) => {
    const verdict = await gate.check(session(llm), clock.now());
    return 'places' in verdict ? verdict.places?.map(({ bucket, limit }) => `${bucket} ${limit}`) : verdict;
  };
  const error = (code: string, fault = 'rate_limit') =>
    gate.store(session('busy'), { type: 'error', data: { code, fault } } as unknown as KnownCallEvent);
  const voice = 'provider:org-voice 1000000';
  for (let i = 0; i < 10; i++)
    await bus.slots.take(`call${i}`, [{ bucket: 'provider:org-busy', limit: 100 }], END);
  for (let i = 0; i < 5; i++) await error('llm_error');
  await error('llm_error', 'timeout');
  await error('stt_error');
  t.same(await limits('busy'), ['provider:org-busy 1000000', voice]);
  await error('llm_error');
  t.same(await limits('busy'), ['provider:org-busy 5', voice]);
  t.same(await limits('idle'), ['provider:org-idle 1000000', voice]);
  clock.advance(20_000);
  t.same(await limits('busy'), ['provider:org-busy 7', voice]);
});
