import { z } from 'zod';
import type { ModelUsage, Usage } from './usage.ts';

/** A price or an amount: whole 10⁻⁹ of its currency. */
export const nanoSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const modelPrices = {
  /** A minute of caller audio that the STT hears. */
  stt_minute: nanoSchema,
  /** A million tokens that the LLM reads. */
  llm_in: nanoSchema,
  /** A million tokens that the LLM writes. */
  llm_out: nanoSchema,
  /** A thousand characters that the TTS speaks. */
  tts_1k: nanoSchema,
};

/**
 * What a call costs, in 10⁻⁹ of the currency; fixed when its first leg begins, and the models of an agent that takes it over
 * when it does.
 */
export const callPricesSchema = z.object({
  /** ISO 4217. */
  currency: z.string().regex(/^[A-Z]{3}$/),
  /** A minute in which caller and agent are connected. */
  per_minute: nanoSchema,
  /** Of the models that the call begins with. */
  ...modelPrices,
  /** Of all that may hear, answer or speak in it, where there are more: fallbacks, and those of nodes and languages. */
  models: z
    .array(z.object({ model_id: z.string(), voice: z.string().optional(), ...modelPrices }))
    .optional(),
});
export type CallPrices = z.output<typeof callPricesSchema>;

/** The voice of a gateway itself, which stands in for those that fail: it costs nothing. */
export const LOCAL_VOICE_ID = 'local_voice';

/** A model of a call, and the voice that it speaks with. */
export type UsedModel = Pick<ModelUsage, 'model_id' | 'voice'>;
type ModelPrices = Pick<CallPrices, keyof typeof modelPrices>;
const QUANTITIES = ['stt_seconds', 'llm_input_tokens', 'llm_output_tokens', 'tts_characters'] as const;
type ModelQuantities = Pick<Usage, (typeof QUANTITIES)[number]>;

/** What is counted of a call for its cost. */
export type CallQuantities = Omit<Usage, 'carrier_seconds'> & { connected_ms: number };

/**
 * What a call costs: time by the millisecond, tokens and characters each by itself, and what a model has used by
 * its own prices where it has some. Each part is rounded to whole 10⁻⁹ of the currency, a half up: the time, and four for
 * each model with prices of its own.
 */
export function costOf(prices: CallPrices, used: CallQuantities): bigint {
  let rest: ModelQuantities = used;
  let cost = part(prices.per_minute, used.connected_ms, 60_000n);
  for (const one of used.models ?? []) {
    const own = pricesOf(prices, one);
    if (!own) continue;
    cost += modelCost(own, one);
    rest = sum(rest, one, -1);
  }
  return cost + modelCost(prices, rest);
}

function modelCost(prices: ModelPrices, used: ModelQuantities): bigint {
  return (
    part(prices.stt_minute, used.stt_seconds * 1000, 60_000n) +
    part(prices.llm_in, used.llm_input_tokens, 1_000_000n) +
    part(prices.llm_out, used.llm_output_tokens, 1_000_000n) +
    part(prices.tts_1k, used.tts_characters, 1000n)
  );
}

/** The prices that a model has of its own; a voice that is not named, such as one that a client chose, costs what its model does. */
function pricesOf({ models = [] }: CallPrices, model: UsedModel): ModelPrices | undefined {
  if (model.model_id === LOCAL_VOICE_ID) return NO_PRICES;
  return (
    models.find((one) => isSameModel(one, model)) ?? models.find((one) => one.model_id === model.model_id)
  );
}

const NO_PRICES: ModelPrices = { stt_minute: 0, llm_in: 0, llm_out: 0, tts_1k: 0 };

export function isSameModel(one: UsedModel, other: UsedModel): boolean {
  return one.model_id === other.model_id && one.voice === other.voice;
}

/** What was used between two counts. */
export function usedSince(before: Usage, now: Usage): Usage {
  return combined(now, before, -1);
}

/** What two parts of a call have used together. */
export function usedTogether(one: Usage, other: Usage): Usage {
  return combined(one, other, 1);
}

/** Counts what a model is used for. @param model undefined: one that nobody names */
export function countUse(usage: Usage, model: UsedModel | undefined, more: Partial<ModelQuantities>): void {
  add(usage, more);
  if (model) add(partOf(usage, model), more);
}

function partOf(usage: Usage, model: UsedModel): UsedModel & ModelQuantities {
  const models = (usage.models ??= []);
  for (const one of models) if (isSameModel(one, model)) return one;
  const part = { ...model, ...NO_QUANTITIES };
  models.push(part);
  return part;
}

function add(to: ModelQuantities, more: Partial<ModelQuantities>): void {
  for (const name of QUANTITIES) to[name] += more[name] ?? 0;
}

function combined(one: Usage, other: Usage, sign: 1 | -1): Usage {
  const used: Usage = {
    ...sum(one, other, sign),
    carrier_seconds: one.carrier_seconds + sign * other.carrier_seconds,
  };
  const models = (one.models ?? []).map((model) => ({ ...model }));
  for (const { model_id, voice, ...quantities } of other.models ?? []) {
    const model = { model_id, ...(voice !== undefined && { voice }) };
    const known = models.find((candidate) => isSameModel(candidate, model));
    if (known) Object.assign(known, sum(known, quantities, sign));
    else models.push({ ...model, ...sum(NO_QUANTITIES, quantities, sign) });
  }
  const left = models.filter((model) => QUANTITIES.some((name) => model[name] !== 0));
  return left.length > 0 ? { ...used, models: left } : used;
}

function sum(one: ModelQuantities, other: ModelQuantities, sign: 1 | -1): ModelQuantities {
  return {
    stt_seconds: one.stt_seconds + sign * other.stt_seconds,
    llm_input_tokens: one.llm_input_tokens + sign * other.llm_input_tokens,
    llm_output_tokens: one.llm_output_tokens + sign * other.llm_output_tokens,
    tts_characters: one.tts_characters + sign * other.tts_characters,
  };
}

const NO_QUANTITIES: Readonly<ModelQuantities> = {
  ...{ stt_seconds: 0, llm_input_tokens: 0, llm_output_tokens: 0, tts_characters: 0 },
};

/** The beginning of a count. */
export const NOTHING_USED: Readonly<Usage> = {
  ...NO_QUANTITIES,
  carrier_seconds: 0,
};

function part(price: number, quantity: number, per: bigint): bigint {
  return (BigInt(price) * BigInt(Math.max(0, Math.round(quantity))) + per / 2n) / per;
}
