import { z } from 'zod';
import { mergePatch } from './merge-patch.ts';

/** What PATCH takes of a field: null where the field has a default, a part where it is an object. */
type Patched<Field extends z.ZodType> =
  Field extends z.ZodDefault<infer Inner extends z.ZodType>
    ? Inner extends z.ZodRecord
      ? z.ZodNullable<Patched<Inner>>
      : z.ZodType<z.output<Patched<Inner>>, z.input<Patched<Inner>> | null>
    : Field extends z.ZodPrefault<infer Inner extends z.ZodType>
      ? z.ZodType<z.output<Patched<Inner>>, z.input<Patched<Inner>> | null>
      : Field extends z.ZodObject<infer Shape>
        ? PatchSchema<Shape>
        : Field extends z.ZodRecord<infer Key, infer Value extends z.ZodType>
          ? z.ZodRecord<Key, z.ZodNullable<Value>>
          : Field;

export type PatchSchema<Shape extends z.core.$ZodShape> = z.ZodObject<
  { [K in keyof Shape]: Shape[K] extends z.ZodType ? z.ZodOptional<Patched<Shape[K]>> : never },
  z.core.$strict
>;

/**
 * The body of a PATCH (JSON Merge Patch, RFC 7396), made from the fields that create the record: all are optional,
 * null stands for the default of a field that has one, objects take parts of themselves, and null removes a key of a
 * map. Services put parts on top of what is stored, and maps with `patchMap`.
 * @param whole fields that are replaced as one value, such as templates
 */
export function patchOf<const Shape extends z.ZodRawShape>(
  shape: Shape,
  whole: readonly (keyof Shape)[] = [],
): PatchSchema<Shape> {
  const fields = Object.entries(shape).map(([name, field]) => [
    name,
    patched(field as z.ZodType, whole.includes(name)).optional(),
  ]);
  return z.strictObject(Object.fromEntries(fields) as z.ZodRawShape) as unknown as PatchSchema<Shape>;
}

/** A map with its patch on top: null removes a key, and null in place of the patch all of them. */
export function patchMap<Value>(
  current: Readonly<Record<string, Value>>,
  patch: Readonly<Record<string, unknown>> | null | undefined,
): Record<string, Value> {
  if (patch === undefined) return { ...current };
  const merged = patch === null ? {} : mergePatch(current, patch, Object.keys(patch));
  return merged as Record<string, Value>;
}

function patched(field: z.ZodType, whole: boolean): z.ZodType {
  if (field instanceof z.ZodDefault || field instanceof z.ZodPrefault) {
    const inner = patched(field.unwrap() as z.ZodType, whole);
    if (inner instanceof z.ZodRecord && !whole) return inner.nullable();
    if (inner.safeParse(null).success) return inner;
    return inner.nullable().transform((value) => value ?? field.parse(undefined));
  }
  if (whole) return field;
  if (field instanceof z.ZodObject) return patchOf(field.shape as z.ZodRawShape);
  if (field instanceof z.ZodRecord) {
    const map = z.record(field.keyType as z.ZodString, (field.valueType as z.ZodType).nullable());
    const meta = field.meta();
    return meta ? map.meta(meta) : map;
  }
  return field;
}
