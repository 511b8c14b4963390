import type { Test } from 'tap';
import type { CarrierEmulator } from '@parley/emulators/callers/emulated-call';
import { ManualClock } from '@parley/shared/time/manual-clock';
import type { NumberSearch } from './carrier-numbers.ts';
import { CarrierError, type Carrier } from './carrier.ts';

/** How one carrier's signalling is opened, and its emulator. */
export interface NumbersUnderTest {
  openEmulator(clock: ManualClock): Promise<CarrierEmulator>;
  /** @param wrong with credentials that the emulator does not know */
  openCarrier(
    emulator: CarrierEmulator,
    options: { clock: ManualClock; apiUrl: string; wrong?: boolean },
  ): Carrier;
  /** What the carrier tells of a number that is for sale in London. */
  offer: object;
  /** What a number has whose webhooks are ours, as the emulator keeps it. */
  settings: object;
  /** Whether an order waits for documents; else it is refused until they are there. */
  waits: boolean;
}

const NUMBER = '+442079460003';
const WITH_DOCUMENTS = '+442079460028';
const SOLD = '+442079460029';
const OWN = '+14155550142';
const WEBHOOKS = {
  voiceUrl: 'https://voice.example.com/voice',
  statusUrl: 'https://voice.example.com/status',
  application: 'parley-tel_1',
};
const LONDON: NumberSearch = { country: 'GB', type: 'local', areaCode: null, contains: null, limit: 5 };
/** Longer than any request may take. */
const NO_ANSWER_MS = 8000;

/** What the number side must be at every carrier. */
export function testCarrierNumbers(t: Test, under: NumbersUnderTest): void {
  async function open(t: Test) {
    const clock = new ManualClock();
    const emulator = await under.openEmulator(clock);
    t.teardown(() => emulator[Symbol.asyncDispose]());
    const numbersOf = (apiUrl: string, wrong = false) =>
      under.openCarrier(emulator, { clock, apiUrl, wrong }).numbers!;
    const numbers = numbersOf(emulator.apiUrl);
    const order = (phoneNumber = NUMBER, by = numbers) =>
      by.order({ orderId: 'phn_1', phoneNumber, webhooks: WEBHOOKS });
    const find = (phoneNumber = NUMBER) => numbers.find({ orderId: 'phn_1', phoneNumber });
    const held = (phoneNumber = NUMBER) =>
      emulator.numbers.held().find(({ number }) => number === phoneNumber);
    return { clock, emulator, numbers, numbersOf, order, find, held };
  }

  void t.test('numbers for sale, with their prices', async (t) => {
    const { numbers } = await open(t);
    const found = await numbers.search(LONDON);
    t.equal(found.length, 5);
    t.match(found[0], under.offer);
    t.match(found[0], { country: 'GB', type: 'local', capabilities: ['voice'], currency: 'USD' });
    const numbersFor = async (search: Partial<NumberSearch>) =>
      (await numbers.search({ ...LONDON, ...search })).map(({ phoneNumber }) => phoneNumber);
    t.same(await numbersFor({ contains: NUMBER }), [NUMBER], 'one by name');
    t.same(await numbersFor({ contains: '60017' }), ['+442079460017'], 'digits in it');
    t.same(await numbersFor({ type: 'mobile' }), [], 'none of a kind');
    t.same(await numbersFor({ country: 'FR' }), [], 'none of a country');
    const codes = await numbersFor({ country: 'US', areaCode: '646' });
    t.equal(codes.length, 5);
    t.ok(codes.every((number) => number.startsWith('+1646')));
  });

  void t.test('ordered, set up, found, and given back', async (t) => {
    const { clock, numbers, order, find, held } = await open(t);
    t.equal(await find(), null);
    await t.rejects(numbers.configure(NUMBER, WEBHOOKS), /HTTP 404/, 'it is not the account’s');
    t.same(await order(), { bought: 'yes' });
    t.match(await find(), { state: 'active', reason: null });
    t.match(held()?.settings, under.settings, 'as it was ordered');
    await numbers.configure(NUMBER, WEBHOOKS);
    await numbers.configure(NUMBER, WEBHOOKS);
    t.match(held()?.settings, under.settings);
    t.same((await numbers.search({ ...LONDON, contains: NUMBER })).length, 0, 'it is not for sale any more');
    t.match(await order(), { bought: 'no', again: false }, 'nor bought again');
    await numbers.release(NUMBER);
    await t.resolves(numbers.release(NUMBER), 'it is gone already');
    t.equal(await find(), null);
    t.equal(clock.pendingTimers, 0, 'no request has left a timer');
  });

  void t.test(
    'webhooks of a number that the account had: set, cleared, and another’s left alone',
    async (t) => {
      const { numbers, find, held, emulator } = await open(t);
      t.match(await find(OWN), { state: 'active' });
      await numbers.clear(OWN, WEBHOOKS);
      await numbers.configure(OWN, WEBHOOKS);
      t.match(held(OWN)?.settings, under.settings);
      const before = { ...held(OWN)?.settings };
      await numbers.clear(OWN, { ...WEBHOOKS, voiceUrl: 'https://b.example.com/', application: 'parley-b' });
      t.same(held(OWN)?.settings, before, 'another’s');
      await numbers.clear(OWN, WEBHOOKS);
      t.notMatch(held(OWN)?.settings, under.settings);
      emulator.numbers.lose(OWN);
      await t.resolves(numbers.clear(OWN, WEBHOOKS), 'it is gone');
    },
  );

  void t.test('a number that waits for documents, or is taken out of service', async (t) => {
    const { emulator, order, find } = await open(t);
    const answer = await order(WITH_DOCUMENTS);
    if (under.waits) {
      t.same(answer, { bought: 'yes' });
      t.match(await find(WITH_DOCUMENTS), { state: 'pending', reason: /./ });
      emulator.numbers.settle(WITH_DOCUMENTS);
      t.match(await find(WITH_DOCUMENTS), { state: 'active', reason: null });
    } else t.match(answer, { bought: 'no', again: false, cause: /./ });
    await find(OWN);
    emulator.numbers.suspend(OWN);
    t.match(await find(OWN), { state: 'suspended', reason: /./ });
    emulator.numbers.settle(OWN);
    t.match(await find(OWN), { state: 'active', reason: null });
  });

  void t.test('what was certainly not bought', async (t) => {
    const { emulator, order, numbersOf } = await open(t);
    t.match(await order(SOLD), { bought: 'no', code: 'refused', again: false, cause: /./ });
    t.same(await order(), { bought: 'yes' });
    const refused = async (work: Promise<unknown>): Promise<unknown> =>
      work.catch((error: unknown) => (error instanceof CarrierError ? { code: error.code } : error));
    emulator.setFaults([{ kind: 'rate_limit', count: 1 }]);
    t.match(
      await refused(order('+442079460004')),
      { code: 'rate_limit' },
      'of the order, or of what it needs',
    );
    t.match(await refused(order(NUMBER, numbersOf(emulator.apiUrl, true))), { code: 'auth' });
    t.match(await refused(order(NUMBER, numbersOf('http://127.0.0.1:1'))), { code: 'unavailable' });
    t.equal(emulator.numbers.orders, 1);
  });

  void t.test('an order without an answer is looked up', async (t) => {
    const { clock, emulator, order, find } = await open(t);
    emulator.setFaults([{ kind: 'order_lost', count: 1 }]);
    t.match(await order(), { bought: 'unknown' });
    t.equal(await find(), null, 'it never came');
    emulator.setFaults([{ kind: 'order_unanswered', count: 1 }]);
    const ordered = order();
    while (emulator.numbers.orders === 0 || clock.pendingTimers === 0)
      await new Promise((resolve) => setImmediate(resolve));
    clock.advance(NO_ANSWER_MS);
    t.same(await ordered, { bought: 'unknown', code: 'timeout' });
    t.match(await find(), { state: 'active' }, 'it was taken');
    t.equal(emulator.numbers.orders, 1);
  });
}
