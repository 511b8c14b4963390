import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { patchOf } from '../http/patch-schema.ts';
import { recordFields, toTimes } from '../http/record-schema.ts';
import { COLUMN_TYPES, LEAD_PATHS, SESSION_PATHS } from './database-columns.ts';
import type { DatabaseRecord } from './database-model.ts';

export const MAX_COLUMNS = 100;
const MAX_OPTIONS = 100;
/** What rows are sorted by besides columns; and what every object of JavaScript has. */
const RESERVED_KEYS = ['created_at', 'updated_at', 'constructor'];

const path = z.string().trim().min(1).max(200);

/** Where the value of a column comes from. */
const columnSource = z.discriminatedUnion('from', [
  z.strictObject({
    from: z.literal('session').meta({ description: 'What is known of the session itself.' }),
    path: z.enum(SESSION_PATHS).meta({ description: 'Field of the session.' }),
  }),
  z.strictObject({
    from: z.literal('lead').meta({ description: 'What the lead analysis found.' }),
    path: z.enum(LEAD_PATHS).meta({ description: 'Field of the call-ended webhook.' }),
  }),
  z.strictObject({
    from: z.literal('analysis').meta({ description: 'What an analysis of your own found.' }),
    analysis_id: idSchema('ana').meta({ description: 'The analysis.' }),
    path: z
      .string()
      .max(200)
      .default('')
      .meta({ description: 'Names separated by dots, within the JSON of its result; empty: all of it.' }),
  }),
  z.strictObject({
    from: z.literal('variable').meta({ description: 'A variable of the session.' }),
    path: path.meta({ description: 'Name of the variable.' }),
  }),
  z.strictObject({ from: z.literal('manual').meta({ description: 'Sessions leave it empty.' }) }),
]);

const columnInput = z
  .strictObject({
    key: z
      .string()
      .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _, and begin with a letter')
      .refine((key) => !RESERVED_KEYS.includes(key), 'is a reserved name')
      .meta({ description: 'Name of the column in `values`, filters and `sort`.', example: 'score' }),
    label: z
      .string()
      .trim()
      .min(1)
      .max(120)
      .optional()
      .meta({ description: 'Heading, for people; without one the key.', example: 'Score' }),
    type: z
      .enum(COLUMN_TYPES)
      .meta({ description: 'What its values are. It stays for as long as the database lives.' }),
    options: z
      .array(z.string().min(1).max(200))
      .max(MAX_OPTIONS)
      .default([])
      .meta({ description: 'The values that a column of type `enum` takes; none for other types.' }),
    source: columnSource
      .default({ from: 'manual' })
      .meta({ description: 'Where its value comes from when a session becomes a row.' }),
  })
  .refine(({ type, options }) => (type === 'enum') === options.length > 0, {
    path: ['options'],
    message: 'must be given for the type enum, and for no other',
  })
  .transform((column) => ({ ...column, label: column.label ?? column.key }));

const columns = z
  .array(columnInput)
  .max(MAX_COLUMNS)
  .superRefine((all, context) => {
    const keys = new Set<string>();
    for (const [index, { key }] of all.entries()) {
      if (keys.has(key))
        context.addIssue({ code: 'custom', path: [index, 'key'], message: 'is the key of another column' });
      keys.add(key);
    }
  });

const writable = {
  name: z.string().trim().min(1).max(120).meta({ example: 'Calls of the autumn campaign' }),
  columns: columns.default([]),
};

export const createDatabaseRequest = z.strictObject(writable).meta({ id: 'CreateDatabaseRequest' });
export const patchDatabaseRequest = patchOf(writable).meta({ id: 'PatchDatabaseRequest' });

export const DATABASE_READ_ONLY = [
  'id',
  'org_id',
  'project_id',
  'kind',
  'row_count',
  'agent_ids',
  'created_at',
  'updated_at',
] as const;

const columnResponse = z
  .object({
    key: z.string().meta({ description: 'Name of the column in `values`, filters and `sort`.' }),
    label: z.string().meta({ description: 'Heading, for people.' }),
    type: z.enum(COLUMN_TYPES).meta({ description: 'What its values are.' }),
    options: z.array(z.string()).meta({ description: 'The values that a column of type `enum` takes.' }),
    source: columnSource.meta({ description: 'Where its value comes from when a session becomes a row.' }),
  })
  .meta({ id: 'DatabaseColumn' });

export const databaseResponse = z
  .object({
    id: z.string().meta({ example: 'dbs_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string(),
    name: z.string(),
    kind: z
      .enum(['auto', 'custom'])
      .meta({ description: '`auto`: made with an agent, for its calls; `custom`: made by you.' }),
    columns: z.array(columnResponse),
    row_count: z.number().int().meta({ description: 'Number of rows.' }),
    agent_ids: z.array(z.string()).meta({ description: 'Agents whose sessions become rows.' }),
    ...recordFields,
  })
  .meta({ id: 'Database' });

export function toDatabaseResponse(database: DatabaseRecord): z.input<typeof databaseResponse> {
  return {
    id: database._id,
    org_id: database.org_id,
    project_id: database.project_id,
    name: database.name,
    kind: database.kind,
    columns: database.columns,
    row_count: database.row_count,
    agent_ids: database.agent_ids,
    ...toTimes(database),
  };
}

export const attachDatabaseAgentRequest = z
  .strictObject({ agent_id: idSchema('agt').meta({ description: 'Agent whose sessions become rows.' }) })
  .meta({ id: 'AttachDatabaseAgentRequest' });

export const databaseAgentResponse = z
  .object({ agent_id: z.string().meta({ description: 'Agent whose sessions become rows.' }) })
  .meta({ id: 'DatabaseAgent' });
