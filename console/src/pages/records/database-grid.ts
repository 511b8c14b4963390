import { isObject } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';

export interface GridColumn {
  key: string;
  /** What people call it. */
  label: string;
}

/** The columns of a database in its own order, and then those of which only rows know. */
export function gridColumns(described: unknown, rows: readonly Json[]): GridColumn[] {
  const labels = new Map<string, string>();
  for (const column of Array.isArray(described) ? described : [])
    if (isObject(column)) labels.set(String(column['key']), String(column['label'] || column['key']));
  for (const key of rows.flatMap((row) => Object.keys(row))) if (!labels.has(key)) labels.set(key, key);
  return [...labels].map(([key, label]) => ({ key, label }));
}
