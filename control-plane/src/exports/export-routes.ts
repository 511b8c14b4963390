import { z } from 'zod';
import type { AuditLog } from '../audit/audit-trail.ts';
import { queryTime } from '../http/list-query.ts';
import { defineOperation } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import type { Filter, Scope } from '../tenancy/scope.ts';
import { inProject } from '../tenancy/target.ts';
import { EXPORT_FORMATS, EXPORT_RESPONSES, exportFile } from './export-file.ts';
import { exportSources } from './export-sources.ts';
import type { ExportCollections, ExportedSession } from './export-sources.ts';

/** What it writes to the audit trail. */
export const EXPORT_AUDIT = ['sessions.exported', 'turns.exported', 'tool_calls.exported'] as const;

const KINDS = [
  { kind: 'sessions', path: 'sessions', id: 'exportSessions', what: 'sessions' },
  { kind: 'turns', path: 'turns', id: 'exportTurns', what: 'turns of all sessions' },
  { kind: 'tool_calls', path: 'tool-calls', id: 'exportToolCalls', what: 'tool calls' },
] as const;

const always = z.object({
  format: z.enum(EXPORT_FORMATS).default('csv').meta({ description: 'CSV, or a JSON object a line.' }),
  created_after: queryTime
    .optional()
    .meta({ description: 'Only those made at this time or later; of turns: their sessions.' }),
  created_before: queryTime
    .optional()
    .meta({ description: 'Only those made before this time; of turns: their sessions.' }),
  cursor: z
    .string()
    .max(300)
    .optional()
    .meta({ description: '`cursor` of a record: the export goes on behind it.' }),
});

/** What the list of sessions can be narrowed to. */
export interface ExportFilters {
  fields: Readonly<Record<string, z.ZodType>>;
  /** The sessions that are left. @throws ValidationError */
  toFilter(scope: Scope, filters: Readonly<Record<string, unknown>>): Promise<Filter<ExportedSession>>;
}

/** Everything of a kind, as a file. */
export function exportRoutes(deps: {
  exported: ExportCollections;
  filters: ExportFilters;
  audit: AuditLog<(typeof EXPORT_AUDIT)[number]>;
}): Operation[] {
  const sources = exportSources(deps.exported);
  const query = z.object({ ...always.shape, ...deps.filters.fields });
  return KINDS.map(({ kind, path, id, what }) =>
    defineOperation({
      id,
      method: 'GET',
      path: `/v1/orgs/{org_id}/projects/{project_id}/exports/${path}`,
      tag: 'Exports',
      summary: `Export ${what}`,
      description:
        'The oldest first, as CSV (RFC 4180, UTF-8 with a byte order mark; texts that a spreadsheet would run begin with an ' +
        'apostrophe) or as lines of JSON. Each record ends in its `cursor`: an export that broke off goes on behind it. The filters are those of the list of sessions.',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query,
      responses: EXPORT_RESPONSES,
      handle: async ({ scope, query: asked, caller, address, signal }) => {
        const source = sources[kind];
        const { format, cursor, created_after, created_before, ...filters } = asked;
        // Calls of tools have times of their own.
        const made = kind === 'tool_calls' ? {} : { created_after, created_before };
        const pages = source.pages(scope, {
          ...{ created_after, created_before, cursor, signal },
          sessions: await deps.filters.toFilter(scope, { ...filters, ...made }),
          narrowed: Object.values(filters).some((value) => value !== undefined),
        });
        // What is wrong with the request is told before an answer begins.
        const first = await pages.next();
        await deps.audit.record({
          ...{ scope, caller, address },
          action: `${kind}.exported`,
          target: scope.projectId,
        });
        const { columns } = source;
        return exportFile(
          { columns, format, name: path },
          (async function* all() {
            if (!first.done) yield first.value;
            yield* pages;
          })(),
          signal,
        );
      },
    }),
  );
}
