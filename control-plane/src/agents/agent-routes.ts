import { z } from 'zod';

import { anyOf, listOf, listQuery, queryBoolean, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody, patchBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { parseInput } from '../http/validation.ts';
import { ForbiddenError } from '@parley/shared/errors/app-error';
import { roleAtLeast } from '../tenancy/roles.ts';
import { inProject, within } from '../tenancy/target.ts';
import { agentTarget } from './agent-target.ts';
import {
  AGENT_READ_ONLY,
  agentResponse,
  createAgentRequest,
  duplicateAgentRequest,
  patchAgentRequest,
  patchVersionRequest,
  toAgentResponse,
  toVersionResponse,
  toVersionSummary,
  trafficSchema,
  validateAgentResponse,
  versionResponse,
  versionSummaryResponse,
} from './agent-schema.ts';
import type { AgentLinks } from './agent-links.ts';
import type { AgentService } from './agent-service.ts';
import type { AgentVersions } from './agent-versions.ts';

const versionParameter = z.string().regex(/^[1-9]\d{0,8}$/, 'must be a version number');
const ifMatchHeader = z.string().regex(/^"?[1-9]\d{0,8}"?$/, 'must be a version number in quotes');
const modelFilter = anyOf(z.string().min(1).max(120)).optional();
const READ = { key: 'viewer', user: 'viewer' } as const;
const WRITE = { key: 'editor', user: 'editor' } as const;

/** The number in `If-Match: "7"`. */
function seenVersion(header: string | undefined): number | undefined {
  if (header === undefined || header === '*') return undefined;
  const headers = parseInput(z.object({ 'if-match': ifMatchHeader }), { 'if-match': header }, 'header');
  return Number(headers['if-match'].replaceAll('"', ''));
}

export function agentRoutes({
  agents,
  versions,
  links,
}: {
  agents: AgentService;
  versions: AgentVersions;
  links: AgentLinks;
}): Operation[] {
  const version = within(agentTarget, 'version', ({ scope, item: found }, number) =>
    versions.get(scope, found, Number(number)),
  );
  return [
    defineOperation({
      id: 'listAgents',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/agents',
      tag: 'Agents',
      summary: 'List agents',
      access: READ,
      target: inProject,
      query: listQuery({
        sortable: ['name'],
        q: true,
        filters: {
          archived: queryBoolean.default(false),
          llm_id: modelFilter,
          stt_id: modelFilter,
          tts_id: modelFilter,
        },
      }),
      responses: { 200: { description: 'A page of agents', schema: listOf(agentResponse) } },
      handle: async ({ scope, query }) =>
        toPage(await agents.list(scope, query), (found) => toAgentResponse(found)),
    }),
    defineOperation({
      id: 'createAgent',
      method: 'POST',
      path: '/v1/orgs/{org_id}/projects/{project_id}/agents',
      tag: 'Agents',
      summary: 'Create an agent',
      access: WRITE,
      target: inProject,
      body: jsonBody(createAgentRequest, { readOnly: AGENT_READ_ONLY }),
      responses: { 201: { description: 'The agent', schema: agentResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, body }) => toAgentResponse(await agents.create(scope, caller, body)),
    }),
    defineOperation({
      id: 'getAgent',
      method: 'GET',
      path: '/v1/agents/{agent_id}',
      tag: 'Agents',
      summary: 'Get an agent, or one of its versions',
      access: READ,
      target: agentTarget,
      query: z.object({ version: queryInteger(1, 999_999_999).optional() }),
      responses: { 200: { description: 'The agent', schema: agentResponse } },
      async handle({ scope, item: found, query }) {
        if (query.version === undefined) return toAgentResponse(found);
        const version = await versions.get(scope, found, query.version);
        return { ...toAgentResponse(found, version.snapshot), version: version.version };
      },
    }),
    defineOperation({
      id: 'updateAgent',
      method: 'PATCH',
      path: '/v1/agents/{agent_id}',
      tag: 'Agents',
      summary: 'Update an agent',
      description:
        'Creates a new version. With `If-Match: "<version>"` the update is refused with 409 when the agent is at another version.',
      access: WRITE,
      target: agentTarget,
      requestHeaders: {
        'If-Match': z
          .string()
          .optional()
          .meta({ description: 'The `version` that you have seen, in quotes.', example: '"3"' }),
      },
      body: patchBody(patchAgentRequest, { readOnly: AGENT_READ_ONLY }),
      responses: { 200: { description: 'The agent', schema: agentResponse } },
      errors: [409],
      async handle({ scope, caller, item: found, body, headers }) {
        return toAgentResponse(
          await agents.update(scope, caller, found, body, seenVersion(headers['if-match'])),
        );
      },
    }),
    defineOperation({
      id: 'deleteAgent',
      method: 'DELETE',
      path: '/v1/agents/{agent_id}',
      tag: 'Agents',
      summary: 'Archive an agent, or purge an archived one',
      access: WRITE,
      target: agentTarget,
      query: z.object({ purge: queryBoolean.default(false) }),
      responses: { 204: { description: 'The agent is archived or purged' } },
      errors: [409],
      async handle({ scope, caller, item: found, query, address }) {
        if (!query.purge) return agents.archive(scope, found);
        if (!roleAtLeast(scope.role, 'admin'))
          throw new ForbiddenError('role_too_low', 'Purging an agent requires the role admin.');
        return agents.purge(scope, caller, found, { address });
      },
    }),
    defineOperation({
      id: 'restoreAgent',
      method: 'POST',
      path: '/v1/agents/{agent_id}/restore',
      tag: 'Agents',
      summary: 'Restore an archived agent',
      access: WRITE,
      target: agentTarget,
      responses: { 200: { description: 'The agent', schema: agentResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, item: found }) => toAgentResponse(await agents.restore(scope, found)),
    }),
    defineOperation({
      id: 'duplicateAgent',
      method: 'POST',
      path: '/v1/agents/{agent_id}/duplicate',
      tag: 'Agents',
      summary: 'Duplicate an agent',
      access: WRITE,
      target: agentTarget,
      body: jsonBody(duplicateAgentRequest, { optional: true }),
      responses: { 201: { description: 'The copy', schema: agentResponse } },
      errors: [409],
      idempotent: {},
      async handle({ scope, access, caller, item: found, body }) {
        const into =
          body.project_id === undefined || body.project_id === found.project_id
            ? scope
            : await access.projectFromBody(body.project_id, { orgId: found.org_id, role: 'editor' });
        const copy = await agents.duplicate(into, caller, found, body.name);
        return toAgentResponse(await links.dropDeleted(into, caller, copy));
      },
    }),
    defineOperation({
      id: 'validateAgent',
      method: 'POST',
      path: '/v1/agents/{agent_id}/validate',
      tag: 'Agents',
      summary: 'Validate an update without applying it',
      access: READ,
      target: agentTarget,
      whenSuspended: true,
      body: jsonBody(patchAgentRequest, { optional: true, readOnly: AGENT_READ_ONLY }),
      responses: {
        200: {
          description: 'The problems of the update; empty when it is valid',
          schema: validateAgentResponse,
        },
      },
      idempotent: {},
      async handle({ scope, item: found, body }) {
        const errors = await agents.validate(scope, found, body);
        return { valid: errors.length === 0, errors, warnings: [] };
      },
    }),
    defineOperation({
      id: 'listAgentVersions',
      method: 'GET',
      path: '/v1/agents/{agent_id}/versions',
      tag: 'Agents',
      summary: 'List versions of an agent',
      access: READ,
      target: agentTarget,
      query: listQuery({ sortable: ['version'], defaultSort: '-version' }),
      responses: { 200: { description: 'A page of versions', schema: listOf(versionSummaryResponse) } },
      handle: async ({ scope, item: found, query }) =>
        toPage(await versions.list(scope, found, query), toVersionSummary),
    }),
    defineOperation({
      id: 'getAgentVersion',
      method: 'GET',
      path: '/v1/agents/{agent_id}/versions/{version}',
      tag: 'Agents',
      summary: 'Get a version of an agent',
      access: READ,
      target: version,
      params: { version: versionParameter },
      responses: { 200: { description: 'The version', schema: versionResponse } },
      handle: async ({ scope, item: found, params }) =>
        toVersionResponse(await versions.get(scope, found, Number(params.version))),
    }),
    defineOperation({
      id: 'labelAgentVersion',
      method: 'PATCH',
      path: '/v1/agents/{agent_id}/versions/{version}',
      tag: 'Agents',
      summary: 'Label a version of an agent',
      access: WRITE,
      target: version,
      params: { version: versionParameter },
      body: jsonBody(patchVersionRequest),
      responses: { 200: { description: 'The version', schema: versionResponse } },
      handle: async ({ scope, item: found, params, body }) =>
        toVersionResponse(await versions.label(scope, found, Number(params.version), body.label)),
    }),
    defineOperation({
      id: 'restoreAgentVersion',
      method: 'POST',
      path: '/v1/agents/{agent_id}/versions/{version}/restore',
      tag: 'Agents',
      summary: 'Restore an old version as the newest',
      access: WRITE,
      target: version,
      params: { version: versionParameter },
      responses: { 200: { description: 'The agent', schema: agentResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, item: found, params }) =>
        toAgentResponse(await versions.restore(scope, caller, found, Number(params.version))),
    }),
    defineOperation({
      id: 'getAgentTraffic',
      method: 'GET',
      path: '/v1/agents/{agent_id}/traffic',
      tag: 'Agents',
      summary: 'Get the traffic rule: which versions new sessions use',
      access: READ,
      target: agentTarget,
      responses: { 200: { description: 'The traffic rule', schema: trafficSchema } },
      handle: ({ item: found }) => found.traffic,
    }),
    defineOperation({
      id: 'setAgentTraffic',
      method: 'PUT',
      path: '/v1/agents/{agent_id}/traffic',
      tag: 'Agents',
      summary: 'Set the traffic rule: which versions new sessions use',
      description:
        '`pinned`: 1 to 4 versions whose weights sum to 100; a caller (number or `user_identifier`) always gets the same one ' +
        'while the rule stays. With `require_passed_tests`, each must have a completed test run in which all tests passed.',
      access: WRITE,
      target: agentTarget,
      body: jsonBody(trafficSchema),
      responses: { 200: { description: 'The traffic rule', schema: trafficSchema } },
      errors: [409],
      handle: ({ scope, item: found, body }) => versions.setTraffic(scope, found, body),
    }),
  ];
}
