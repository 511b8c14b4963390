import type { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { invalid } from '../http/validation.ts';

/** A guesser without a limit has a weaker one in a day or so, for all that scrypt costs. */
const LEAST_SCORE = 3;
/** Looked at: patterns of long texts take long to find, and this much decides. */
const LOOKED_AT = 64;

let estimator: Promise<ZxcvbnFactory> | undefined;

/**
 * Refuses passwords that are guessed early: those of the lists of common ones, rows of keys, repetitions and dates.
 * @param field of the request's body that holds it
 * @throws ValidationError
 */
export async function checkPassword(password: string, field: 'password' | 'new_password'): Promise<void> {
  estimator ??= openEstimator();
  const { score } = (await estimator).check(password.slice(0, LOOKED_AT));
  if (score < LEAST_SCORE)
    throw invalid(
      ['body', field],
      'is too common or follows a pattern: choose one that is harder to guess, such as several unrelated words',
      'password_too_weak',
    );
}

/** Its lists take 27 MB and a third of a second: they are read when somebody chooses a password. */
async function openEstimator(): Promise<ZxcvbnFactory> {
  const [{ ZxcvbnFactory }, { dictionary, adjacencyGraphs }] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
  ]);
  return new ZxcvbnFactory({ dictionary, graphs: adjacencyGraphs });
}
