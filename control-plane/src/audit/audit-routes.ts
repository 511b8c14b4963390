import { listOf, toPage } from '../http/list-query.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { inOrg } from '../tenancy/target.ts';
import { auditEntryResponse, auditQuery, toAuditEntryResponse } from './audit-schema.ts';
import type { AuditTrail } from './audit-trail.ts';

export function auditRoutes({ audit }: { audit: Pick<AuditTrail, 'list'> }): Operation[] {
  return [
    defineOperation({
      id: 'listAuditEntries',
      method: 'GET',
      path: '/v1/orgs/{org_id}/audit-entries',
      tag: 'Audit trail',
      summary: 'List who did what',
      description:
        'What concerns members, API keys, secrets, credentials, numbers, campaigns, exports, recordings that were heard, erasures ' +
        'and money: in all projects of the org, for 400 days. Sign-ins and passwords are ' +
        "a user's, not an org's, and are not listed.",
      access: { user: 'admin' },
      target: inOrg,
      query: auditQuery,
      responses: { 200: { description: 'A page of entries', schema: listOf(auditEntryResponse) } },
      handle: async ({ scope, query }) => toPage(await audit.list(scope, query), toAuditEntryResponse),
    }),
  ];
}
