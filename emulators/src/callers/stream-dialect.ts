import { decodeMulaw } from '@parley/shared/audio/g711';
import { Resampler } from '@parley/shared/audio/resampler';
import type { CarrierDialect } from './carrier-dialect.ts';

/* What one call's stream does otherwise than its carrier's dialect, by what was asked for or by chance. */

/** Our audio is not wanted: the carrier drops it, and the caller hears nothing. @param why for the violation */
export function deaf(dialect: CarrierDialect, why: string): CarrierDialect {
  return {
    ...dialect,
    parse(message) {
      const parsed = dialect.parse(message);
      return parsed.type === 'audio' ? { type: 'other', event: why } : parsed;
    },
  };
}

/** Adds to the `start` message. @param change gets the parsed message */
export function withStart(
  dialect: CarrierDialect,
  change: (message: { start: Record<string, unknown> } & Record<string, unknown>) => void,
): CarrierDialect {
  return {
    ...dialect,
    opening: (call) =>
      dialect.opening(call).map((text) => {
        const message = JSON.parse(text) as { event: string; start: Record<string, unknown> };
        if (message.event !== 'start') return text;
        change(message);
        return JSON.stringify(message);
      }),
  };
}

/** The caller's audio in another encoding. @param convert of 20 ms of mu-law, 8 kHz */
export function withEncoding(
  dialect: CarrierDialect,
  convert: (mulaw: Uint8Array) => Uint8Array,
): CarrierDialect {
  return {
    ...dialect,
    media: (call, frame) =>
      dialect.media(call, {
        ...frame,
        base64: Buffer.from(convert(Buffer.from(frame.base64, 'base64'))).toString('base64'),
      }),
  };
}

/** Signed 16-bit, little-endian, as Plivo has it. */
export function toL16(sampleRate: number): (mulaw: Uint8Array) => Uint8Array {
  const resampler = sampleRate === 8000 ? undefined : new Resampler(8000, sampleRate);
  return (mulaw) => {
    const samples = decodeMulaw(mulaw);
    const wanted = resampler ? resampler.process(samples) : samples;
    const bytes = Buffer.alloc(wanted.length * 2);
    for (let i = 0; i < wanted.length; i++) bytes.writeInt16LE(wanted[i]!, i * 2);
    return bytes;
  };
}

/** Every other message overtakes the one before it, as datagrams do: 0, 2, 1, 4, 3… Each keeps its own numbers. */
export function unordered(dialect: CarrierDialect): CarrierDialect {
  let held = '';
  return {
    ...dialect,
    media(call, frame) {
      const message = dialect.media(call, frame);
      if (frame.index === 0 || frame.index % 2 === 0) return message;
      const late = held;
      held = message;
      return late;
    },
  };
}

/** What `extraHeaders` carried comes back in every message. */
export function withExtraHeaders(dialect: CarrierDialect, extraHeaders: string): CarrierDialect {
  const field = `"extra_headers":${JSON.stringify(extraHeaders)}`;
  const add = (message: string) => message.replace('"extra_headers":""', () => field);
  return {
    ...dialect,
    opening: (call) => dialect.opening(call).map(add),
    media: (call, frame) => add(dialect.media(call, frame)),
    dtmf: (call, digit, timestampMs) => add(dialect.dtmf(call, digit, timestampMs)),
  };
}
