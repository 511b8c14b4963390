import { isIP } from 'node:net';
import { z } from 'zod';
import { ConfigError } from '../errors/config-error.ts';
import { Secret } from './secret.ts';

/**
 * Reads the environment with one schema. Empty variables count as unset.
 * @returns a frozen object
 * @throws ConfigError that names every bad variable and prints no value
 */
export function readEnv<T extends z.ZodType<object>>(
  schema: T,
  env: NodeJS.ProcessEnv,
): Readonly<z.output<T>> {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = schema.safeParse(present);
  if (result.success) return Object.freeze(result.data);
  throw new ConfigError(
    result.error.issues.map((issue) => `${issue.path.join('.') || 'environment'}: ${issue.message}`),
  );
}

/** A whole number within bounds, given as text. */
export function envInteger(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int(error).min(min, error).max(max, error);
}

/** A number within bounds, given as text. */
export function envNumber(min: number, max: number) {
  const error = `must be a number from ${min} to ${max}`;
  return z.coerce.number({ error }).min(min, error).max(max, error);
}

/** A TCP port; 0 = any free one. */
export const envPort = envInteger(0, 65_535);

/** `true`/`1`/`yes` or `false`/`0`/`no`. */
export const envBoolean = z
  .enum(['true', '1', 'yes', 'false', '0', 'no'])
  .transform((text) => text === 'true' || text === '1' || text === 'yes');

/** A value that must not be printed. */
export const envSecret = z.string().transform((value) => new Secret(value));

/** Comma-separated words; empty parts are dropped. */
export const envList = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

/** IP addresses and CIDR ranges, comma-separated. */
export const envAddresses = envList.refine(
  (entries) =>
    entries.every((entry) => {
      const [address = '', bits = '0'] = entry.split('/');
      const version = isIP(address);
      return version !== 0 && /^\d+$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32);
    }),
  'must be addresses or CIDR ranges, comma-separated',
);

/** An absolute http(s) or ws(s) address without a trailing slash. */
export const envUrl = z.url({ protocol: /^(https?|wss?)$/ }).transform((text) => text.replace(/\/+$/, ''));
