import t from 'tap';
import { pricesOf, rateTableSchema, type PaidModels, type PricedCall } from './rate-table.ts';

const NO_MODELS: PaidModels = { stt: null, llm: null, tts: null };
const outbound = (to: string | null): PricedCall => ({ channel: 'telephony', direction: 'outbound', to });
const table = (part: object) => rateTableSchema.parse({ currency: 'EUR', ...part });

void t.test('the longest prefix wins, then the line that says more', async (t) => {
  const installation = table({
    calls: [
      { per_minute: '0.001' },
      { channel: 'telephony', per_minute: '0.002' },
      { channel: 'telephony', direction: 'outbound', per_minute: '0.003' },
      { prefix: '+4', per_minute: '0.004' },
      { channel: 'telephony', direction: 'outbound', prefix: '+44', per_minute: '0.005' },
      { prefix: '+447', per_minute: '0.006' },
    ],
  });
  const minute = (call: PricedCall) => pricesOf({ installation, org: null }, call, NO_MODELS)!.per_minute;
  t.equal(minute({ channel: 'web', direction: 'web', to: null }), 1_000_000, 'the line for all');
  t.equal(minute({ channel: 'telephony', direction: 'inbound', to: '+15550100' }), 2_000_000);
  t.equal(minute(outbound('+15550100')), 3_000_000);
  t.equal(minute(outbound(null)), 3_000_000, 'a number that is not known has no prefix');
  t.equal(minute(outbound('+4930')), 4_000_000, 'a prefix before direction and channel');
  t.equal(minute(outbound('+4420')), 5_000_000);
  t.equal(minute(outbound('+44770')), 6_000_000);
  t.equal(pricesOf({ installation: table({}), org: null }, outbound(null), NO_MODELS)!.per_minute, 0);
});

void t.test('models cost only where the installation pays for them', async (t) => {
  const installation = table({
    models: [
      { model: 'stt_a', unit: 'minute', amount: '0.0043' },
      { model: 'llm_a', unit: '1m_input_tokens', amount: '2.5' },
      { model: 'llm_a', unit: '1m_output_tokens', amount: '10' },
      { model: 'tts_a', unit: '1k_characters', amount: '0.18' },
    ],
  });
  const of = (models: Partial<PaidModels>) =>
    pricesOf({ installation, org: null }, outbound(null), { ...NO_MODELS, ...models });
  t.same(of({}), {
    currency: 'EUR',
    per_minute: 0,
    stt_minute: 0,
    llm_in: 0,
    llm_out: 0,
    tts_1k: 0,
  });
  t.match(of({ stt: 'stt_a', llm: 'llm_a', tts: 'tts_b' }), {
    stt_minute: 4_300_000,
    llm_in: 2_500_000_000,
    llm_out: 10_000_000_000,
    tts_1k: 0,
  });
});

void t.test("an org's table replaces the parts that it has", async (t) => {
  const installation = table({
    calls: [{ prefix: '+44', per_minute: '0.02' }],
    models: [{ model: 'tts_a', unit: '1k_characters', amount: '0.18' }],
  });
  const org = table({ calls: [{ per_minute: '0.01' }] });
  const prices = pricesOf({ installation, org }, outbound('+4420'), { ...NO_MODELS, tts: 'tts_a' });
  t.match(prices, { per_minute: 10_000_000, tts_1k: 180_000_000 }, 'not one line of the other part');
  t.equal(pricesOf({ installation: null, org: null }, outbound(null), NO_MODELS), null);
});

void t.test('a table says what is wrong with it', async (t) => {
  for (const [wrong, why] of [
    [{ currency: 'euro' }, 'a currency that is none'],
    [{ currency: 'EUR', calls: [{ per_minute: 0.1 }] }, 'a float'],
    [{ currency: 'EUR', calls: [{ per_minute: '-1' }] }, 'less than nothing'],
    [{ currency: 'EUR', calls: [{ per_minute: '1000000' }] }, 'more than a number holds'],
    [{ currency: 'EUR', calls: [{ per_minute: '0.0000000001' }] }, 'more digits than are kept'],
    [{ currency: 'EUR', calls: [{ prefix: '44', per_minute: '1' }] }, 'a prefix without its plus'],
    [{ currency: 'EUR', calls: [{ per_minute: '1' }, { per_minute: '2' }] }, 'two lines for the same'],
    [{ currency: 'EUR', call: [] }, 'a word that means nothing'],
  ] as const)
    t.notOk(rateTableSchema.safeParse(wrong).success, why);
});
