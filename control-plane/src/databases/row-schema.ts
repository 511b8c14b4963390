import { z } from 'zod';
import { listOf } from '../http/list-query.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import type { DatabaseRecord, DatabaseRowRecord } from './database-model.ts';

const values = z
  .record(z.string().max(64), z.unknown())
  .meta({ description: 'Values by the keys of the columns.', example: { score: 80 } });

export const createRowRequest = z
  .strictObject({
    values: values.meta({
      description: 'Values by the keys of the columns, each of the type of its column; null: none.',
      example: { score: 80 },
    }),
  })
  .meta({ id: 'CreateDatabaseRowRequest' });

export const patchRowRequest = z
  .strictObject({
    values: values.meta({
      description: 'Values to change, by the keys of the columns; null removes one.',
      example: { score: 80 },
    }),
  })
  .meta({ id: 'PatchDatabaseRowRequest' });

export const ROW_READ_ONLY = [
  'id',
  'database_id',
  'session_id',
  'agent_id',
  'source',
  'created_at',
  'updated_at',
] as const;

export const rowResponse = z
  .object({
    id: z.string().meta({ example: 'dbr_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    database_id: z.string().meta({ description: 'Database that it is in.' }),
    session_id: z.string().nullable().meta({ description: 'Session that it was made of; null: of none.' }),
    agent_id: z.string().nullable().meta({ description: 'Agent of that session; null: there is none.' }),
    values: z
      .record(z.string(), z.unknown())
      .meta({ description: 'A value for each column; null: it has none.', example: { score: 80 } }),
    source: z.enum(['session', 'api']).meta({ description: 'Who made it: a session, or a client.' }),
    ...recordFields,
  })
  .meta({ id: 'DatabaseRow' });

export const rowPageResponse = listOf(rowResponse)
  .extend({
    total: z.number().int().meta({
      description:
        'Number of all matches, counted up to 10,000; up to 1,000 where filters come together and rows are read to count them.',
    }),
    next_cursor: z
      .string()
      .nullable()
      .meta({ description: 'Gives the next page as `cursor`; null: this is the last one.' }),
  })
  .meta({ id: 'DatabaseRowPage' });

/** Values of columns that were removed stay stored, and are not shown. */
export function toRowResponse(
  database: Pick<DatabaseRecord, 'columns'>,
  row: DatabaseRowRecord,
): z.input<typeof rowResponse> {
  return {
    id: row._id,
    database_id: row.database_id,
    session_id: row.session_id,
    agent_id: row.agent_id,
    values: Object.fromEntries(database.columns.map(({ key }) => [key, row.values[key] ?? null])),
    source: row.source,
    ...toTimes(row),
  };
}
