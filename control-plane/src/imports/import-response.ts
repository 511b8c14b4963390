import { z } from 'zod';
import { maybeTime, recordFields, time, toTimes } from '../http/record-schema.ts';
import { IMPORT_STATUSES } from './import-record.ts';
import type { ImportRecord } from './import-record.ts';

const count = z.number().int().min(0);

export const importResponse = z
  .object({
    id: z.string().meta({ example: 'imp_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    project_id: z
      .string()
      .nullable()
      .meta({ description: 'Null: it is into the do-not-call list of the org.' }),
    database_id: z.string().nullable().meta({ description: 'Database that the rows go to, if one.' }),
    campaign_id: z
      .string()
      .nullable()
      .meta({ description: 'Campaign whose contacts the rows become, if one.' }),
    recipient_list_id: z
      .string()
      .nullable()
      .meta({ description: 'Recipient list that the rows go to, if one.' }),
    name: z.string().meta({ description: 'Name of the file.', example: 'leads.csv' }),
    size_bytes: count.meta({ description: 'Size of the file.' }),
    status: z.enum(IMPORT_STATUSES).meta({
      description:
        '`done`: every row was read, and those without errors were imported. `failed`: `error` says why it stopped; what was imported before stays.',
    }),
    error: z.string().nullable().meta({ description: 'Why it failed; null: it has not.' }),
    rows: count.meta({ description: 'Rows of the file that were read so far.' }),
    imported: count.meta({ description: 'Those of them that are new: rows, contacts or recipients now.' }),
    updated: count.meta({ description: 'Those of them whose people were there already, and were updated.' }),
    skipped: count.meta({
      description: 'Those of them whose people were there already, and were left as they are.',
    }),
    error_count: count.meta({ description: 'Those of them that could not be imported.' }),
    errors_url: z.string().nullable().meta({
      description:
        'Address of a CSV file with every error so far, for the same callers; null: there is none.',
    }),
    finished_at: maybeTime.meta({ description: 'When it was over; null: it is not.' }),
    ...recordFields,
  })
  .meta({ id: 'Import' });

export function toImportResponse(found: ImportRecord, publicUrl: string): z.input<typeof importResponse> {
  return {
    id: found._id,
    project_id: found.project_id,
    database_id: found.database_id,
    campaign_id: found.campaign_id ?? null,
    recipient_list_id: found.recipient_list_id ?? null,
    name: found.name,
    size_bytes: found.size_bytes,
    status: found.status,
    error: found.error,
    rows: found.rows,
    imported: found.imported,
    updated: found.updated ?? 0,
    skipped: found.skipped ?? 0,
    error_count: found.error_count,
    errors_url: found.error_count > 0 ? `${publicUrl}/v1/imports/${found._id}/errors` : null,
    finished_at: time(found.finished_at),
    ...toTimes(found),
  };
}
