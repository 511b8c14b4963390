import { z } from 'zod';
import type { Usage } from './call-events.ts';

/** A price or an amount: whole 10⁻⁹ of its currency. */
export const nanoSchema = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/**
 * What a call costs, in 10⁻⁹ of the currency; fixed when its first leg begins, and the models of an agent that takes it over
 * when it does.
 */
export const callPricesSchema = z.object({
  /** ISO 4217. */
  currency: z.string().regex(/^[A-Z]{3}$/),
  /** A minute in which caller and agent are connected. */
  per_minute: nanoSchema,
  /** A minute of caller audio that the STT hears. */
  stt_minute: nanoSchema,
  /** A million tokens that the LLM reads. */
  llm_in: nanoSchema,
  /** A million tokens that the LLM writes. */
  llm_out: nanoSchema,
  /** A thousand characters that the TTS speaks. */
  tts_1k: nanoSchema,
});
export type CallPrices = z.output<typeof callPricesSchema>;

/** What is counted of a call for its cost. */
export type CallQuantities = Omit<Usage, 'carrier_seconds'> & { connected_ms: number };

/**
 * What a call costs: time by the millisecond, tokens and characters each by itself. Each of the five parts is rounded
 * to whole 10⁻⁹ of the currency, a half up; so a call is never more than 2.5 of them off.
 */
export function costOf(prices: CallPrices, used: CallQuantities): bigint {
  return (
    part(prices.per_minute, used.connected_ms, 60_000n) +
    part(prices.stt_minute, used.stt_seconds * 1000, 60_000n) +
    part(prices.llm_in, used.llm_input_tokens, 1_000_000n) +
    part(prices.llm_out, used.llm_output_tokens, 1_000_000n) +
    part(prices.tts_1k, used.tts_characters, 1000n)
  );
}

/** What was used between two counts. */
export function usedSince(before: Usage, now: Usage): Usage {
  return {
    stt_seconds: now.stt_seconds - before.stt_seconds,
    llm_input_tokens: now.llm_input_tokens - before.llm_input_tokens,
    llm_output_tokens: now.llm_output_tokens - before.llm_output_tokens,
    tts_characters: now.tts_characters - before.tts_characters,
    carrier_seconds: now.carrier_seconds - before.carrier_seconds,
  };
}

/** The beginning of a count. */
export const NOTHING_USED: Readonly<Usage> = {
  ...{ stt_seconds: 0, llm_input_tokens: 0, llm_output_tokens: 0, tts_characters: 0, carrier_seconds: 0 },
};

function part(price: number, quantity: number, per: bigint): bigint {
  return (BigInt(price) * BigInt(Math.max(0, Math.round(quantity))) + per / 2n) / per;
}
