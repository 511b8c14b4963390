/** What settings that are not set were perhaps meant by. */
export interface Mistyped {
  /** As the environment has it. */
  name: string;
  meant: string;
}

/**
 * Finds variables that are nobody's setting and look like one: `OPENAI_APIKEY`, `MONGODB_URL`, `OUTBOUND_ALOW`.
 * @param known every setting that this process or one beside it reads
 */
export function findMistyped(env: NodeJS.ProcessEnv, known: readonly string[]): Mistyped[] {
  const settings = new Set(known);
  return Object.keys(env)
    .filter((name) => env[name] !== '' && !settings.has(name) && /^\w{4,64}$/.test(name))
    .flatMap((name) => {
      const meant = known.find((setting) => env[setting] === undefined && isNear(name, setting));
      return meant === undefined ? [] : [{ name, meant }];
    });
}

/** The same letters, or in long names two of them wrong: `HOME` is not a mistyped `HOST`. */
function isNear(name: string, setting: string): boolean {
  const [a, b] = [letters(name), letters(setting)];
  if (a === b) return true;
  const allowed = setting.length < 8 ? 0 : 2;
  return Math.abs(a.length - b.length) <= allowed && distance(a, b) <= allowed;
}

const letters = (name: string) => name.toUpperCase().replaceAll('_', '');

/** Damerau's distance between neighbouring letters: insertions, deletions, replacements and swaps. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      let best = Math.min(rows[i - 1]![j]! + 1, row[j - 1]! + 1, rows[i - 1]![j - 1]! + (same ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        best = Math.min(best, rows[i - 2]![j - 2]! + 1);
      row.push(best);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
