/** A field of an analysis' answer, flat, with the turns that it was read from. */
export interface AnalysisField {
  path: string;
  label: string;
  value: string;
  turns: readonly number[];
}

const MAX_FIELDS = 300;
const MAX_DEPTH = 8;

/**
 * The leaves of an answer in order, each with its evidence. Evidence of an object or a list counts for what it holds.
 * @param evidence JSON path to numbers of turns, as the API answers it
 */
export function analysisFields(
  answer: Readonly<Record<string, unknown>>,
  evidence: Readonly<Record<string, readonly number[]>> | null,
): AnalysisField[] {
  const fields: AnalysisField[] = [];
  const visit = (
    value: unknown,
    path: string,
    label: string,
    inherited: readonly number[],
    depth: number,
  ) => {
    if (fields.length >= MAX_FIELDS) return;
    const own = evidence && Object.hasOwn(evidence, path) ? evidence[path]! : [];
    const turns = own.length > 0 ? own : inherited;
    if (typeof value === 'object' && value !== null && depth < MAX_DEPTH) {
      const entries = Array.isArray(value)
        ? value.map((one, at) => [`${path}[${at}]`, `${label} ${at + 1}`, one] as const)
        : Object.entries(value).map(
            ([name, one]) => [`${path}.${name}`, label === '' ? name : `${label} › ${name}`, one] as const,
          );
      if (entries.length > 0) {
        for (const [below, name, one] of entries) visit(one, below, name, turns, depth + 1);
        return;
      }
    }
    fields.push({ path, label, value: asText(value), turns });
  };
  visit(answer, '$', '', [], 0);
  return fields;
}

function asText(value: unknown): string {
  if (value === null || value === undefined) return '–';
  if (value === true) return 'Yes';
  if (value === false) return 'No';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
