import { z } from 'zod';

/** An amount of money in an answer, next to its `currency`. */
export const amount = z
  .string()
  .regex(/^-?\d+\.\d{6}$/)
  .meta({ example: '12.340000' });

const NANO_PER_MICRO = 1000n;
const MICRO = 1_000_000n;

/** An amount in 10⁻⁹ of its currency as a decimal number of six places: half a unit of the last one is rounded away from zero. */
export function toAmount(nano: bigint): string {
  const micro = divideRounded(nano, NANO_PER_MICRO);
  const whole = micro < 0n ? -micro : micro;
  return `${micro < 0n ? '-' : ''}${whole / MICRO}.${String(whole % MICRO).padStart(6, '0')}`;
}

/** The whole number next to `dividend / divisor`; of two that are as near, the one away from zero. `divisor` is positive. */
export function divideRounded(dividend: bigint, divisor: bigint): bigint {
  const half = divisor / 2n + (divisor % 2n);
  const magnitude = dividend < 0n ? -dividend : dividend;
  const quotient = magnitude / divisor + (magnitude % divisor >= half ? 1n : 0n);
  return dividend < 0n ? -quotient : quotient;
}
