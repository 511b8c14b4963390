import { z } from 'zod';
import { invalid } from '../http/validation.ts';

/** Where a list of rows goes on. */
export interface RowCursor {
  sort: string;
  /** What the first page counted. */
  total: number;
  /** There were more. */
  capped: boolean;
  /** Which part of the order. */
  segment: number;
  /** Of the last row that was given, within its part. */
  position: (string | number)[];
}

const schema: z.ZodType<RowCursor> = z.strictObject({
  sort: z.string(),
  total: z.number().int().min(0),
  capped: z.boolean(),
  segment: z.number().int().min(0).max(2),
  position: z
    .array(z.union([z.string(), z.number()]))
    .min(1)
    .max(2),
});

export function encodeCursor(cursor: RowCursor): string {
  return Buffer.from(JSON.stringify(cursor)).toString('base64url');
}

/** @throws ValidationError for a text that is no cursor, or one of another order */
export function decodeCursor(text: string, sort: string): RowCursor {
  let read: unknown;
  try {
    read = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'));
  } catch {
    read = undefined;
  }
  const parsed = schema.safeParse(read);
  if (!parsed.success) throw invalid(['query', 'cursor'], 'must be the `next_cursor` of a page');
  if (parsed.data.sort !== sort)
    throw invalid(['query', 'cursor'], 'is of a list in another order: send the same `sort`');
  return parsed.data;
}
