import t from 'tap';
import {
  costOf,
  countUse,
  LOCAL_VOICE_ID,
  NOTHING_USED,
  usedSince,
  usedTogether,
  type CallPrices,
  type CallQuantities,
} from './call-prices.ts';

const NONE: CallPrices = {
  currency: 'EUR',
  per_minute: 0,
  stt_minute: 0,
  llm_in: 0,
  llm_out: 0,
  tts_1k: 0,
};
const NOTHING: CallQuantities = {
  connected_ms: 0,
  stt_seconds: 0,
  llm_input_tokens: 0,
  llm_output_tokens: 0,
  tts_characters: 0,
};

void t.test('a call costs its minutes and what its models were given', async (t) => {
  const cases: [string, Partial<CallPrices>, Partial<CallQuantities>, bigint][] = [
    ['73 s at 0.0127 a minute', { per_minute: 12_700_000 }, { connected_ms: 73_000 }, 15_451_667n],
    ['nothing at any price', { per_minute: 12_700_000, tts_1k: 5 }, {}, 0n],
    ['a part of a minute of audio', { stt_minute: 4_300_000 }, { stt_seconds: 12.5 }, 895_833n],
    ['tokens read', { llm_in: 2_500_000_000 }, { llm_input_tokens: 1234 }, 3_085_000n],
    ['tokens written', { llm_out: 10_000_000_000 }, { llm_output_tokens: 77 }, 770_000n],
    ['characters', { tts_1k: 180_000_000 }, { tts_characters: 321 }, 57_780_000n],
    ['half of the smallest unit is one', { tts_1k: 1 }, { tts_characters: 500 }, 1n],
    ['less than half is none', { tts_1k: 1 }, { tts_characters: 499 }, 0n],
    ['a clock that went back', { per_minute: 1_000_000_000 }, { connected_ms: -5 }, 0n],
    [
      'four hours at a million a minute, to the last digit',
      { per_minute: 1_000_000_000_000_001 },
      { connected_ms: 14_400_000 },
      240_000_000_000_000_240n,
    ],
  ];
  for (const [title, prices, used, cost] of cases)
    t.equal(costOf({ ...NONE, ...prices }, { ...NOTHING, ...used }), cost, title);
});

void t.test('parts add up', async (t) => {
  const prices = { ...NONE, per_minute: 60_000, stt_minute: 60_000, llm_in: 1_000_000, llm_out: 1_000_000 };
  const used = { ...NOTHING, connected_ms: 1, stt_seconds: 0.002, llm_input_tokens: 3, llm_output_tokens: 4 };
  t.equal(costOf({ ...prices, tts_1k: 1000 }, { ...used, tts_characters: 5 }), 15n);
});

void t.test('what each model was used for costs its own prices', async (t) => {
  const first = { ...NONE, llm_out: 1_000_000, tts_1k: 1000 };
  const { currency: _, per_minute: __, ...free } = NONE;
  const prices: CallPrices = {
    ...first,
    models: [
      { ...free, model_id: 'llm_a', llm_out: 1_000_000 },
      { ...free, model_id: 'llm_b', llm_out: 7_000_000 },
      { ...free, model_id: 'tts_a', voice: 'ann', tts_1k: 1000 },
      { ...free, model_id: 'tts_a', voice: 'bob', tts_1k: 5000 },
    ],
  };
  const usage = { ...NOTHING_USED };
  const cost = () => costOf(prices, { ...usage, connected_ms: 0 });
  countUse(usage, { model_id: 'llm_a' }, { llm_output_tokens: 10 });
  countUse(usage, { model_id: 'llm_b' }, { llm_output_tokens: 10 });
  t.equal(cost(), 80n);
  const before = usedSince(NOTHING_USED, usage);
  countUse(usage, { model_id: 'tts_a', voice: 'bob' }, { tts_characters: 3 });
  t.equal(cost(), 95n);
  countUse(usage, { model_id: 'tts_a', voice: 'of a client' }, { tts_characters: 3 });
  t.equal(cost(), 98n, 'another voice costs what its model does');
  countUse(usage, undefined, { tts_characters: 3 });
  t.equal(cost(), 101n, 'what nobody names costs what the first model does');
  countUse(usage, { model_id: LOCAL_VOICE_ID }, { tts_characters: 3 });
  t.equal(cost(), 101n);
  const { models: ____, ...unnamed } = usage;
  t.equal(costOf(prices, { ...unnamed, connected_ms: 0 }), 20n + 12n, 'as earlier versions have counted it');

  const since = usedSince(before, usage);
  t.match(since.models, [{ voice: 'bob' }, { voice: 'of a client' }, { model_id: LOCAL_VOICE_ID }]);
  t.same(usedTogether(before, since), usage);
  t.equal(NOTHING_USED.models, undefined);
});
