import { z } from 'zod';
import { anyOf, listQuery } from '../http/list-query.ts';
import { time, timestamp } from '../http/record-schema.ts';
import type { AuditRecord } from './audit-trail.ts';

const text = z.string().min(1).max(120);

/** Entries never change: there is one time to sort them by. */
const sort = z
  .enum(['-created_at', 'created_at'])
  .default('-created_at')
  .meta({ description: 'The newest first, or the oldest first.' });

export const auditQuery = listQuery({
  filters: {
    actor: anyOf(text)
      .optional()
      .meta({ description: 'Only what this user or API key did; several: one of them.' }),
    action: anyOf(text)
      .optional()
      .meta({ description: 'Only this action, such as `api_key.revoked`; several: one of them.' }),
    target: anyOf(text)
      .optional()
      .meta({ description: 'Only what was done to the record with this id; several: to one of them.' }),
  },
}).extend({ sort });

export const auditEntryResponse = z
  .object({
    id: z.string().meta({ example: 'adt_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
    org_id: z.string(),
    project_id: z.string().nullable().meta({ description: 'Project that it was in; null: none.' }),
    actor: z.string().meta({
      description:
        'Who did it: the id of a user or API key, `cli` for whoever runs the server, by its command line, or `system` for the server itself.',
    }),
    address: z.string().meta({ description: 'IP address that it came from; empty: none.' }),
    action: z.string().meta({ description: 'What was done.', example: 'api_key.revoked' }),
    target: z.string().meta({ description: 'Id of the record that it was done to.' }),
    created_at: timestamp.meta({ description: 'When it was done.' }),
  })
  .meta({ id: 'AuditEntry' });

/** @param entry of an org */
export function toAuditEntryResponse(entry: AuditRecord): z.input<typeof auditEntryResponse> {
  return {
    id: entry._id,
    org_id: entry.org_id!,
    project_id: entry.project_id,
    actor: entry.actor,
    address: entry.address,
    action: entry.action,
    target: entry.target,
    created_at: time(entry.created_at),
  };
}
