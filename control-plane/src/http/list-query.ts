import { z } from 'zod';
import type { ListQuery } from '../storage/list.ts';
import { invalid } from './validation.ts';

/** A whole number in a query string. */
export function queryInteger(min: number, max: number) {
  return z
    .string()
    .regex(/^-?\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().int().min(min).max(max))
    .meta({ override: describedAs({ type: 'integer', minimum: min, maximum: max }) });
}

/** `true` or `false` in a query string or form. */
export const queryBoolean = z
  .enum(['true', 'false'])
  .transform((text) => text === 'true')
  .meta({ override: describedAs({ type: 'boolean' }) });

/** Texts in a query are described as what they are read as. */
function describedAs(schema: Record<string, unknown>) {
  return ({ jsonSchema }: { jsonSchema: object }) => {
    for (const key of ['type', 'pattern', 'enum', 'format'])
      delete (jsonSchema as Record<string, unknown>)[key];
    Object.assign(jsonSchema, schema);
  };
}

/** A filter that may be repeated: any of the values fits. Gives an array. */
export function anyOf<T extends z.ZodType<string>>(value: T) {
  return z.union([value.transform((one) => [one]), z.array(value).min(1).max(50)]).meta({
    override: ({ jsonSchema }: { jsonSchema: object }) => arrayOnly(jsonSchema as Record<string, unknown>),
  });
}

function arrayOnly(jsonSchema: Record<string, unknown>): void {
  const options = jsonSchema['anyOf'] as Record<string, unknown>[] | undefined;
  const array = options?.find((option) => option['type'] === 'array');
  if (!array) return;
  delete jsonSchema['anyOf'];
  Object.assign(jsonSchema, array);
}

/** A point in time, with any offset. */
export const queryTime = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .meta({ override: describedAs({ type: 'string', format: 'date-time' }) });

const DEFAULT_SORTS = ['created_at', 'updated_at'];

/**
 * The query of a list route: `limit`, `offset`, `sort`, `created_after`, `created_before`, `q` where the records
 * have a name, and the route's own filters.
 * @param sortable fields besides `created_at` and `updated_at`
 */
export function listQuery<F extends z.ZodRawShape = Record<never, never>>(
  options: { sortable?: readonly string[]; defaultSort?: string; q?: boolean; filters?: F } = {},
) {
  const sorts = [...DEFAULT_SORTS, ...(options.sortable ?? [])].flatMap((field) => [field, `-${field}`]);
  const base = z.object({
    limit: queryInteger(1, 200).default(50).meta({ description: 'Records per page (default 50).' }),
    offset: queryInteger(0, 100_000).default(0).meta({ description: 'Records to skip (default 0).' }),
    sort: z
      .enum(sorts)
      .default(options.defaultSort ?? '-created_at')
      .meta({ description: 'Field to sort by; prefix `-` for descending order.' }),
    created_after: queryTime.optional().meta({ description: 'Only those made at this time or later.' }),
    created_before: queryTime.optional().meta({ description: 'Only those made before this time.' }),
  });
  const q = z
    .string()
    .min(1)
    .max(100)
    .optional()
    .meta({ description: 'Text that the name contains, case-insensitive.' });
  return base.extend({ ...(options.q ? { q } : {}), ...(options.filters ?? ({} as F)) } as F & {
    q: typeof q;
  });
}

export type ListInput = ListQuery & {
  created_after?: Date | undefined;
  created_before?: Date | undefined;
  q?: string | undefined;
};

/** Filters of a list that may be repeated, by the fields of the records that they look at. */
export type AnyOf<R, K extends keyof R> = { [F in K]?: NonNullable<R[F]>[] | undefined };

/** What the common filters of a list mean for the database. `nameField` is what `q` looks at. */
export function commonFilter<N extends string = 'name'>(
  list: ListInput,
  nameField: N = 'name' as N,
): { created_at?: { $gte?: Date; $lt?: Date } } & { [K in N]?: { $regex: string; $options: string } } {
  if (list.created_after && list.created_before && list.created_after > list.created_before) {
    throw invalid(['query', 'created_before'], 'must not be before created_after');
  }
  const { created_after: after, created_before: before, q } = list;
  return {
    ...((after || before) && {
      created_at: { ...(after && { $gte: after }), ...(before && { $lt: before }) },
    }),
    ...(q !== undefined && { [nameField]: { $regex: escapePattern(q), $options: 'i' } }),
  } as ReturnType<typeof commonFilter<N>>;
}

type Equality<V> = V extends readonly (infer One)[] ? One | { $in: One[] } : V;

/** A filter of equalities: one value as it is, several as `$in`, none left out. */
export function equalities<
  F extends Record<string, readonly unknown[] | string | boolean | number | undefined>,
>(fields: F): { [K in keyof F]?: Equality<Exclude<F[K], undefined>> } {
  const filter: Record<string, unknown> = {};
  for (const [field, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    filter[field] = Array.isArray(value) ? (value.length === 1 ? value[0] : { $in: value }) : value;
  }
  return filter as { [K in keyof F]?: Equality<Exclude<F[K], undefined>> };
}

/** A text as a regular expression that finds just it. */
export function escapePattern(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

/** The envelope of every list. */
export function listOf<T extends z.ZodType>(item: T) {
  return z.object({
    items: z.array(item),
    total: z.number().int().meta({ description: 'Number of all matches, counted up to 10,000.' }),
    total_capped: z
      .literal(true)
      .optional()
      .meta({ description: 'Whether there are more matches than `total`.' }),
  });
}

/** A page of records in the form of the wire. */
export function toPage<T, O>(
  page: { items: T[]; total: number; total_capped?: true },
  convert: (item: T) => O,
) {
  return { ...page, items: page.items.map(convert) };
}
