import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';

const MAX_BYTES = 65_536;

/**
 * A tenant's JSON Schema (draft 2020-12): at most 64 KiB, no remote `$ref`, and patterns whose matching takes no more
 * than linear time. The root is an object.
 */
export const tenantJsonSchema = z
  .record(z.string(), z.unknown())
  .superRefine((schema, context) => {
    const problem = jsonSchemaProblem(schema);
    if (problem !== null) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({
    description: 'A JSON Schema (2020-12) of an object.',
    example: { type: 'object', properties: {} },
  });

/** @returns what is wrong with it, or null */
export function jsonSchemaProblem(schema: Record<string, unknown>): string | null {
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes`;
  if (schema['type'] !== 'object') return 'must have the type object at its root';
  const problem = walk(schema, false);
  if (problem !== null) return problem;
  try {
    new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
    return null;
  } catch (error) {
    return `is not a valid JSON Schema: ${error instanceof Error ? error.message.slice(0, 200) : 'unknown'}`;
  }
}

/** @param named whether the keys are names that the tenant chose (`properties`), not keywords */
function walk(value: unknown, named: boolean): string | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, child] of Object.entries(value)) {
    if (!named && !Array.isArray(value)) {
      if ((key === '$ref' || key === '$dynamicRef') && typeof child === 'string' && !child.startsWith('#')) {
        return 'must not refer to other documents';
      }
      if (key === 'pattern' && typeof child === 'string' && !isLinearPattern(child))
        return 'has a pattern that is too expensive to evaluate';
      if (key === 'patternProperties' && typeof child === 'object' && child !== null) {
        if (!Object.keys(child).every(isLinearPattern))
          return 'has a pattern that is too expensive to evaluate';
      }
    }
    const problem = walk(
      child,
      !named && (key === 'properties' || key === 'patternProperties' || key === '$defs'),
    );
    if (problem !== null) return problem;
  }
  return null;
}

/** Refuses what can backtrack for long: repeated groups, back-references, look-arounds, two open repeats in a row. */
export function isLinearPattern(pattern: string): boolean {
  if (pattern.length > 500) return false;
  try {
    new RegExp(pattern, 'u');
  } catch {
    return false;
  }
  const bare = pattern.replace(/\\[^1-9k]/g, 'x').replace(/\[[^\]]*\]/g, 'c');
  if (/\\[1-9k]/.test(bare) || /\(\?[=!<]/.test(bare)) return false;
  if (/\)(?:[*+]|\{\d+,?\d*\})/.test(bare)) return false;
  return (bare.match(/[*+]|\{\d+,\}/g) ?? []).length <= 1;
}
