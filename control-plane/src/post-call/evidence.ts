import { z } from 'zod';
import type { Turn } from '@parley/shared/contracts/turn';

/** Which turns the fields of an answer were read from. */
export type Evidence = {
  /** JSON path of the field, such as `$.items[0].name`. */
  path: string;
  /** Their `turn_index`es, rising. */
  turns: number[];
}[];

const MAX_PATHS = 200;
const MAX_TURNS_OF_PATH = 20;

const claim = z.object({ path: z.string().max(300), turn: z.number().int(), quote: z.string() });
const envelopeSchema = z.strictObject({
  answer: z.record(z.string(), z.unknown()),
  // A claim that a model got wrong is left out; the others count.
  evidence: z.array(claim.nullable().catch(null)),
});

const EVIDENCE_SCHEMA = {
  type: 'array',
  description: 'For each field of the answer that was read from the transcript, where',
  items: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Of the field, such as $.name or $.items[0].price' },
      turn: { type: 'integer', description: 'Number of the turn' },
      quote: { type: 'string', description: 'The words of that turn, verbatim' },
    },
    required: ['path', 'turn', 'quote'],
    additionalProperties: false,
  },
};

/** Said to the model with a schema of `withEvidence`. */
export const EVIDENCE_INSTRUCTION =
  ' Put the result into `answer`, and into `evidence` for each of its fields the turns that it was read from.';

/**
 * The schema of an answer that brings its evidence along.
 * @returns null for a schema whose references would lead elsewhere within another
 */
export function withEvidence(schema: Record<string, unknown>): Record<string, unknown> | null {
  const { $defs, ...answer } = schema;
  const references = JSON.stringify(schema).matchAll(/"\$ref":"([^"]*)"/g);
  for (const [, to] of references) if (!to!.startsWith('#/$defs/')) return null;
  return {
    type: 'object',
    properties: { answer, evidence: EVIDENCE_SCHEMA },
    required: ['answer', 'evidence'],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs }),
  };
}

/**
 * Takes a model's answer apart. What it claims is checked: a turn that there is not, words that are not in the turn and
 * a field that is not in the answer are dropped. A model that answers without evidence is taken at its word.
 */
export function takeEvidence(
  value: Record<string, unknown>,
  turns: readonly Turn[],
): { answer: Record<string, unknown>; evidence: Evidence } {
  const { data } = envelopeSchema.safeParse(value);
  if (!data) return { answer: value, evidence: [] };
  const texts = new Map(turns.map(({ turn_index, text }) => [turn_index, words(text)]));
  const evidence = new Map<string, number[]>();
  for (const one of data.evidence) {
    if (!one || !isThere(data.answer, one.path)) continue;
    const quote = words(one.quote);
    if (quote === '' || !` ${texts.get(one.turn) ?? ''} `.includes(` ${quote} `)) continue;
    const known = evidence.get(one.path) ?? [];
    if (known.includes(one.turn) || known.length >= MAX_TURNS_OF_PATH) continue;
    if (known.length === 0 && evidence.size >= MAX_PATHS) continue;
    evidence.set(
      one.path,
      [...known, one.turn].sort((a, b) => a - b),
    );
  }
  return { answer: data.answer, evidence: [...evidence].map(([path, turns]) => ({ path, turns })) };
}

/** `$.a.b[0]`: names and places from the root on. */
function isThere(answer: unknown, path: string): boolean {
  if (!/^\$(\.[^.[\]]+|\[\d+\])+$/.test(path)) return false;
  let value = answer;
  for (const [, name, place] of path.matchAll(/\.([^.[\]]+)|\[(\d+)\]/g)) {
    const key = name ?? place!;
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return false;
    value = (value as Record<string, unknown>)[key];
  }
  return true;
}

/** Upper and lower case, punctuation and how words are set apart mean nothing when they are spoken. */
function words(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replace(/[\s\p{P}]+/gu, ' ')
    .trim();
}
