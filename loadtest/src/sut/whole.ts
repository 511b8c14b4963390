import type { Bench } from '../bench.ts';
import type { SystemUnderTest } from './system.ts';

export function openWholeSystem(
  _bench: Bench,
  _options: { maxCalls: number; profile: boolean },
): Promise<SystemUnderTest> {
  return Promise.reject(new Error('not yet'));
}
