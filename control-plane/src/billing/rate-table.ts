import { z } from 'zod';
import { channelSchema, directionSchema } from '@parley/shared/contracts/session-values';
import type { Channel, Direction } from '@parley/shared/contracts/session-values';
import type { CallPrices } from '@parley/shared/contracts/call-prices';
import { isExactAmount, toNano } from './money.ts';

const MAX_CALL_RATES = 1000;
const MAX_MODEL_RATES = 500;

/** Below a million: a price fits a number of JSON to its last digit. */
const price = z
  .string()
  .max(20)
  .refine(
    (text) => isExactAmount(text) && Number(text) < 1_000_000,
    'must be a decimal text such as "0.0125", with at most nine decimals',
  );

const callRate = z.strictObject({
  channel: channelSchema.optional(),
  direction: directionSchema.optional(),
  /** How the called number begins. */
  prefix: z
    .string()
    .regex(/^\+[1-9]\d{0,14}$/, 'must be the beginning of a number such as "+44"')
    .optional(),
  per_minute: price,
});

const modelRate = z.strictObject({
  model: z.string().min(1).max(120),
  unit: z.enum(['minute', '1k_characters', '1m_input_tokens', '1m_output_tokens', 'clone']),
  amount: price,
});

/** What calls cost, as an operator writes it and as it is stored: prices are decimal texts. */
export const rateTableSchema = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code such as "EUR"'),
  calls: z
    .array(callRate)
    .max(MAX_CALL_RATES)
    .refine(
      (rates) => areUnique(rates, ({ channel, direction, prefix }) => [channel, direction, prefix]),
      'must have one line for each channel, direction and prefix',
    )
    .optional(),
  models: z
    .array(modelRate)
    .max(MAX_MODEL_RATES)
    .refine(
      (rates) => areUnique(rates, ({ model, unit }) => [model, unit]),
      'must have one line for each model and unit',
    )
    .optional(),
});
export type RateTable = z.output<typeof rateTableSchema>;
type CallRate = z.output<typeof callRate>;
export type ModelRate = z.output<typeof modelRate>;

/** What of a call decides its price a minute. */
export interface PricedCall {
  channel: Channel;
  direction: Direction;
  /** The called number, where there is one. */
  to: string | null;
}

/** Ids of the models that are the installation's to pay; null: the org's own account is used, or nobody's. */
export interface PaidModels {
  stt: string | null;
  llm: string | null;
  tts: string | null;
}

/** What each unit costs of models that may hear, answer and speak in a call. */
export function modelPricesOf(
  { installation, org }: { installation: RateTable | null; org: RateTable | null },
  models: PaidModels,
): Pick<CallPrices, 'stt_minute' | 'llm_in' | 'llm_out' | 'tts_1k'> {
  const rates = org?.models ?? installation?.models ?? [];
  const of = (model: string | null, unit: ModelRate['unit']) => modelPrice(rates, model, unit);
  return {
    stt_minute: of(models.stt, 'minute'),
    llm_in: of(models.llm, '1m_input_tokens'),
    llm_out: of(models.llm, '1m_output_tokens'),
    tts_1k: of(models.tts, '1k_characters'),
  };
}

/**
 * The prices of one call. An org's table replaces the installation's in each of its parts (`calls`, `models`) that it has.
 * @returns null where there is no table at all: nothing is counted then
 */
export function pricesOf(
  tables: { installation: RateTable | null; org: RateTable | null },
  call: PricedCall,
  models: PaidModels,
): CallPrices | null {
  const { installation, org } = tables;
  const currency = org?.currency ?? installation?.currency;
  if (currency === undefined) return null;
  return {
    currency,
    per_minute: minutePrice(org?.calls ?? installation?.calls ?? [], call),
    ...modelPricesOf(tables, models),
  };
}

/** The price of the line that fits best: the longest prefix, then one that names the direction, then the channel. */
function minutePrice(rates: readonly CallRate[], call: PricedCall): number {
  const fitting = rates.filter(
    ({ channel = call.channel, direction = call.direction, prefix }) =>
      channel === call.channel &&
      direction === call.direction &&
      (prefix === undefined || (call.to?.startsWith(prefix) ?? false)),
  );
  const best = fitting.sort((a, b) => precision(b) - precision(a))[0];
  return best ? Number(toNano(best.per_minute)) : 0;
}

function precision({ prefix = '', direction, channel }: CallRate): number {
  return prefix.length * 4 + (direction === undefined ? 0 : 2) + (channel === undefined ? 0 : 1);
}

/** What a model costs in one unit; nothing where no line says so. */
export function modelPrice(
  rates: readonly ModelRate[],
  model: string | null,
  unit: ModelRate['unit'],
): number {
  const rate = rates.find((one) => one.model === model && one.unit === unit);
  return rate ? Number(toNano(rate.amount)) : 0;
}

function areUnique<T>(items: readonly T[], key: (item: T) => unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(key(item)))).size === items.length;
}
