import { Anchor, Card, Group, Select, Skeleton, Stack, Switch, Text, CloseButton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import type { ReferenceKind } from '../../components/schema-form/reference-kind.ts';
import { useChoices } from '../../components/schema-form/references.ts';

export type LinkKind = 'tools' | 'knowledge-bases' | 'post-call-analyses' | 'databases';

interface AgentLink {
  id: string;
  enabled: boolean;
}

interface Place {
  orgId: string;
  projectId: string;
}

const VERSIONED = 'Saved at once, as a version of its own.';

/** How each kind is read and changed. */
const KINDS: Readonly<
  Record<
    LinkKind,
    {
      title: string;
      /** When a change acts. */
      text: string;
      add: string;
      reference: ReferenceKind;
      list(agentId: string, at: Place): Promise<AgentLink[]>;
      attach(agentId: string, id: string): Promise<unknown>;
      /** Absent: what is attached is on. */
      change?(agentId: string, id: string, enabled: boolean): Promise<unknown>;
      detach(agentId: string, id: string): Promise<unknown>;
    }
  >
> = {
  tools: {
    title: 'Attached tools',
    text: VERSIONED,
    add: 'Attach a tool',
    reference: 'tool',
    list: async (agent_id) =>
      (await take(api.GET('/v1/agents/{agent_id}/tools', { params: { path: { agent_id } } }))).items.map(
        ({ tool_id, enabled }) => ({ id: tool_id, enabled }),
      ),
    attach: (agent_id, tool_id) =>
      take(api.POST('/v1/agents/{agent_id}/tools', { params: { path: { agent_id } }, body: { tool_id } })),
    change: (agent_id, tool_id, enabled) =>
      take(
        api.PATCH('/v1/agents/{agent_id}/tools/{tool_id}', {
          params: { path: { agent_id, tool_id } },
          body: { enabled },
        }),
      ),
    detach: (agent_id, tool_id) =>
      take(api.DELETE('/v1/agents/{agent_id}/tools/{tool_id}', { params: { path: { agent_id, tool_id } } })),
  },
  'knowledge-bases': {
    title: 'Attached knowledge bases',
    text: VERSIONED,
    add: 'Attach a knowledge base',
    reference: 'knowledge_base',
    list: async (agent_id) =>
      (
        await take(api.GET('/v1/agents/{agent_id}/knowledge-bases', { params: { path: { agent_id } } }))
      ).items.map(({ knowledge_base_id, enabled }) => ({ id: knowledge_base_id, enabled })),
    attach: (agent_id, knowledge_base_id) =>
      take(
        api.POST('/v1/agents/{agent_id}/knowledge-bases', {
          params: { path: { agent_id } },
          body: { knowledge_base_id },
        }),
      ),
    change: (agent_id, knowledge_base_id, enabled) =>
      take(
        api.PATCH('/v1/agents/{agent_id}/knowledge-bases/{knowledge_base_id}', {
          params: { path: { agent_id, knowledge_base_id } },
          body: { enabled },
        }),
      ),
    detach: (agent_id, knowledge_base_id) =>
      take(
        api.DELETE('/v1/agents/{agent_id}/knowledge-bases/{knowledge_base_id}', {
          params: { path: { agent_id, knowledge_base_id } },
        }),
      ),
  },
  'post-call-analyses': {
    title: 'Attached analyses',
    text: VERSIONED,
    add: 'Attach an analysis',
    reference: 'analysis',
    list: async (agent_id) =>
      (
        await take(api.GET('/v1/agents/{agent_id}/post-call-analyses', { params: { path: { agent_id } } }))
      ).items.map(({ analysis_id, enabled }) => ({ id: analysis_id, enabled })),
    attach: (agent_id, analysis_id) =>
      take(
        api.POST('/v1/agents/{agent_id}/post-call-analyses', {
          params: { path: { agent_id } },
          body: { analysis_id },
        }),
      ),
    change: (agent_id, analysis_id, enabled) =>
      take(
        api.PATCH('/v1/agents/{agent_id}/post-call-analyses/{analysis_id}', {
          params: { path: { agent_id, analysis_id } },
          body: { enabled },
        }),
      ),
    detach: (agent_id, analysis_id) =>
      take(
        api.DELETE('/v1/agents/{agent_id}/post-call-analyses/{analysis_id}', {
          params: { path: { agent_id, analysis_id } },
        }),
      ),
  },
  databases: {
    title: 'Attached databases',
    text: 'Calls that end from now on leave a row in each. Saved at once, for all versions of the agent.',
    add: 'Attach a database',
    reference: 'database',
    list: attachedDatabases,
    attach: (agent_id, database_id) =>
      take(
        api.POST('/v1/databases/{database_id}/agents', {
          params: { path: { database_id } },
          body: { agent_id },
        }),
      ),
    detach: (agent_id, database_id) =>
      take(
        api.DELETE('/v1/databases/{database_id}/agents/{agent_id}', {
          params: { path: { database_id, agent_id } },
        }),
      ),
  },
};

/** Databases say which agents they have: all of the project are read. */
async function attachedDatabases(agentId: string, { orgId, projectId }: Place): Promise<AgentLink[]> {
  const path = { org_id: orgId, project_id: projectId };
  const all = await readAll((page) =>
    take(
      api.GET('/v1/orgs/{org_id}/projects/{project_id}/databases', {
        params: { path, query: { ...page, sort: 'created_at' } },
      }),
    ),
  );
  return all.filter(({ agent_ids }) => agent_ids.includes(agentId)).map(({ id }) => ({ id, enabled: true }));
}

/** What is attached to an agent. Each change acts at once. */
export function AgentLinks({
  agentId,
  kind,
  readOnly,
  own = null,
}: {
  agentId: string;
  kind: LinkKind;
  readOnly: boolean;
  /** What was made with the agent, and cannot be detached: a setting of its own switches it. */
  own?: string | null;
}) {
  const { orgId, projectId } = useProject();
  const { title, text, add, reference, list, attach, change, detach } = KINDS[kind];
  const queries = useQueryClient();
  const queryKey = ['agent', agentId, 'links', kind];
  const links = useQuery({ queryKey, queryFn: () => list(agentId, { orgId, projectId }) });
  const choices = useChoices(reference);
  const act = useMutation({
    mutationFn: (run: () => Promise<unknown>) => run(),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey }),
        queries.invalidateQueries({ queryKey: ['agent', agentId], exact: true }),
      ]),
  });
  const attached = (links.data ?? []).filter(({ id }) => id !== own);
  const free = choices.filter(({ value }) => value !== own && !attached.some(({ id }) => id === value));
  const nameOf = (id: string) => choices.find(({ value }) => value === id)?.label ?? id;
  return (
    <Card withBorder radius="md" p="md">
      <Group justify="space-between" mb="sm">
        <div>
          <Text size="sm" fw={500}>
            {title}
          </Text>
          <Text size="xs" c="dimmed">
            {text}
          </Text>
        </div>
        {!readOnly && (
          <Select
            size="xs"
            w={220}
            placeholder={free.length === 0 ? 'Nothing more to attach' : add}
            aria-label={add}
            searchable
            limit={100}
            disabled={act.isPending || free.length === 0}
            data={[...free]}
            value={null}
            onChange={(id) => id !== null && act.mutate(() => attach(agentId, id))}
          />
        )}
      </Group>
      {links.error && <ErrorMessage error={links.error} onRetry={() => void links.refetch()} />}
      {act.error && <ErrorMessage error={act.error} />}
      {links.isPending ? (
        <Skeleton h={32} />
      ) : attached.length === 0 ? (
        <Text size="sm" c="dimmed">
          Nothing is attached.
        </Text>
      ) : (
        <Stack gap={6}>
          {attached.map(({ id, enabled }) => (
            <Group key={id} justify="space-between" wrap="nowrap">
              <Anchor component="span" size="sm" c="inherit" underline="never" truncate>
                {nameOf(id)}
              </Anchor>
              <Group gap="xs" wrap="nowrap">
                {change && (
                  <Switch
                    size="sm"
                    checked={enabled}
                    disabled={readOnly || act.isPending}
                    aria-label={`${nameOf(id)} is on`}
                    onChange={(event) => {
                      const next = event.currentTarget.checked;
                      act.mutate(() => change(agentId, id, next));
                    }}
                  />
                )}
                {!readOnly && (
                  <CloseButton
                    size="sm"
                    aria-label={`Detach ${nameOf(id)}`}
                    disabled={act.isPending}
                    onClick={() => act.mutate(() => detach(agentId, id))}
                  />
                )}
              </Group>
            </Group>
          ))}
        </Stack>
      )}
    </Card>
  );
}
