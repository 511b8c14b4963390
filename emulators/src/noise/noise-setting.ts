/** What may be heard around a caller. */
export const NOISE_KINDS = [
  'tv',
  'babble',
  'talker',
  'music',
  'street',
  'kitchen',
  'car',
  'cough',
  'knock',
  'dog',
] as const;
export type NoiseKind = (typeof NOISE_KINDS)[number];

/**
 * The two halves of the corpus have other voices, sentences, seeds and parameters: what is tuned on the first is
 * reported on the second, apart.
 */
export const NOISE_HALVES = ['development', 'held-out'] as const;
export type NoiseHalf = (typeof NOISE_HALVES)[number];

export interface NoiseSetting {
  kind: NoiseKind;
  /** Active level, in dB to the caller's own or to a full-scale square wave. */
  levelDb: number;
  levelTo: 'caller' | 'full-scale';
}

const QUIETEST_DB = -60;
const SETTING = /^([a-z]+):([+-]?\d+(?:\.\d+)?)(dbfs|db)?$/i;

/**
 * Reads `tv:-20` (20 dB below the caller) or `tv:-45dBFS`.
 * @throws RangeError that lists the kinds
 */
export function parseNoise(text: string): NoiseSetting {
  const [, name = '', level = '', unit = ''] = SETTING.exec(text) ?? [];
  const kind = NOISE_KINDS.find((known) => known === name.toLowerCase());
  const levelDb = Number(level);
  const levelTo = unit.toLowerCase() === 'dbfs' ? 'full-scale' : 'caller';
  const loudestDb = levelTo === 'caller' ? 10 : -10;
  if (kind === undefined || levelDb < QUIETEST_DB || levelDb > loudestDb)
    throw new RangeError(
      `must be KIND:LEVEL with LEVEL in dB to the caller (${QUIETEST_DB} to 10), as in tv:-20, or to full scale ` +
        `(${QUIETEST_DB} to -10), as in tv:-45dBFS. Kinds: ${NOISE_KINDS.join(', ')}`,
    );
  return { kind, levelDb, levelTo };
}

/** The form that `parseNoise` reads. */
export function formatNoise({ kind, levelDb, levelTo }: NoiseSetting): string {
  return `${kind}:${levelDb}${levelTo === 'full-scale' ? 'dBFS' : ''}`;
}
