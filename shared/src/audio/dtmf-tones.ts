/** Frequencies of the rows and columns of a telephone's keys, Hz (ITU-T Q.23). */
const ROWS = [697, 770, 852, 941];
const COLUMNS = [1209, 1336, 1477, 1633];
const KEYS = ['123A', '456B', '789C', '*0#D'];

/** How long a tone and the pause behind it last, ms; ITU-T Q.24 asks receivers to take 40 of each. */
const TONE_MS = 100;
const PAUSE_MS = 100;
/** Peak of the lower frequency, of full scale. The higher one is 2 dB louder, as lines damp it more. */
const LOW_PEAK = 0.25;
const HIGH_PEAK = LOW_PEAK * 10 ** (2 / 20);

/**
 * The tones of keys, one after another, with a pause before and behind each.
 * @param digits of 0-9, A-D, * and #; others are left out
 * @returns linear PCM, signed 16-bit
 */
export function dtmfTones(digits: string, sampleRate: number): Int16Array {
  const keys = [...digits].flatMap((digit) => {
    const row = KEYS.findIndex((line) => line.includes(digit));
    return row === -1 ? [] : [{ low: ROWS[row]!, high: COLUMNS[KEYS[row]!.indexOf(digit)]! }];
  });
  const samples = (ms: number) => Math.round((ms * sampleRate) / 1000);
  const pcm = new Int16Array(samples(PAUSE_MS + keys.length * (TONE_MS + PAUSE_MS)));
  keys.forEach(({ low, high }, index) => {
    const from = samples(PAUSE_MS + index * (TONE_MS + PAUSE_MS));
    for (let at = 0; at < samples(TONE_MS); at++) {
      const angle = (2 * Math.PI * at) / sampleRate;
      const level = LOW_PEAK * Math.sin(low * angle) + HIGH_PEAK * Math.sin(high * angle);
      pcm[from + at] = Math.round(level * 32_767);
    }
  });
  return pcm;
}
