import { z } from 'zod';
import { listOf } from '../http/list-query.ts';
import { defineOperation, idSchema, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { within } from '../tenancy/target.ts';
import { agentTarget } from './agent-target.ts';
import type { AgentLinks, LinkKind } from './agent-links.ts';

/** List, attach, switch and detach: the same for tools, analyses and knowledge bases. */
function linkRoutes<Field extends 'tool_id' | 'analysis_id' | 'knowledge_base_id'>(
  links: AgentLinks,
  link: {
    kind: LinkKind;
    field: Field;
    prefix: 'tol' | 'ana' | 'kbs';
    path: string;
    /** `AgentTool`: for operation and schema names. */
    name: string;
    words: [one: string, many: string];
  },
): Operation[] {
  const { kind, field, path, name } = link;
  const [one, many] = link.words;
  const schema = z
    .object({ [field]: z.string(), enabled: z.boolean() } as Record<Field, z.ZodString> & {
      enabled: z.ZodBoolean;
    })
    .meta({ id: name });
  const attachRequest = z
    .strictObject({ [field]: idSchema(link.prefix) } as Record<Field, z.ZodString>)
    .meta({ id: `Attach${name}Request` });
  const toResponse = ({ id, enabled }: { id: string; enabled: boolean }) =>
    ({ [field]: id, enabled }) as never;
  const common = { tag: 'Agents', target: agentTarget } as const;
  const linked = within(agentTarget, field, ({ item: found }, id) =>
    found[kind].some((link) => link.id === id),
  );
  const itemPath = `/v1/agents/{agent_id}/${path}/{${field}}` as const;

  return [
    defineOperation({
      ...common,
      id: `list${name}Links`,
      method: 'GET',
      path: `/v1/agents/{agent_id}/${path}`,
      summary: `List ${many} of an agent`,
      access: { key: 'viewer', user: 'viewer' },
      responses: { 200: { description: 'All attachments', schema: listOf(schema) } },
      handle: ({ item: found }) => ({ items: found[kind].map(toResponse), total: found[kind].length }),
    }),
    defineOperation({
      ...common,
      id: `attach${name}`,
      method: 'POST',
      path: `/v1/agents/{agent_id}/${path}`,
      summary: `Attach ${one} to an agent`,
      description: 'Attaching twice has no further effect.',
      access: { key: 'editor', user: 'editor' },
      // Fields that we do not know are ignored here: older clients send some.
      body: jsonBody(attachRequest.strip()),
      responses: { 200: { description: 'The attachment', schema } },
      errors: [409],
      idempotent: {},
      async handle({ scope, caller, item: found, body }) {
        const id = (body as Record<Field, string>)[field];
        return toResponse(await links.attach(scope, caller, found, kind, id, ['body', field]));
      },
    }),
    defineOperation({
      ...common,
      target: linked,
      id: `update${name}`,
      method: 'PATCH',
      path: itemPath,
      summary: `Switch ${one} of an agent on or off`,
      access: { key: 'editor', user: 'editor' },
      body: jsonBody(z.strictObject({ enabled: z.boolean() }).meta({ id: `Update${name}Request` }), {
        readOnly: [field],
      }),
      responses: { 200: { description: 'The attachment', schema } },
      errors: [409],
      handle: async ({ scope, caller, item: found, params, body }) =>
        toResponse(
          await links.setLink(
            scope,
            caller,
            found,
            kind,
            (params as Record<Field, string>)[field],
            body.enabled,
          ),
        ),
    }),
    defineOperation({
      ...common,
      target: linked,
      id: `detach${name}`,
      method: 'DELETE',
      path: itemPath,
      summary: `Detach ${one} from an agent`,
      access: { key: 'editor', user: 'editor' },
      responses: { 204: { description: 'Detached' } },
      errors: [409],
      handle: ({ scope, caller, item: found, params }) =>
        links.detach(scope, caller, found, kind, (params as Record<Field, string>)[field]),
    }),
  ];
}

export function agentLinkRoutes(links: AgentLinks): Operation[] {
  return [
    ...linkRoutes(links, {
      kind: 'tools',
      field: 'tool_id',
      prefix: 'tol',
      path: 'tools',
      name: 'AgentTool',
      words: ['a tool', 'tools'],
    }),
    ...linkRoutes(links, {
      kind: 'analyses',
      field: 'analysis_id',
      prefix: 'ana',
      path: 'post-call-analyses',
      name: 'AgentAnalysis',
      words: ['an analysis', 'analyses'],
    }),
    ...linkRoutes(links, {
      kind: 'knowledge_bases',
      field: 'knowledge_base_id',
      prefix: 'kbs',
      path: 'knowledge-bases',
      name: 'AgentKnowledgeBase',
      words: ['a knowledge base', 'knowledge bases'],
    }),
  ];
}
