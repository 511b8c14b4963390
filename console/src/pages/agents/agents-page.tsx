import {
  ActionIcon,
  Anchor,
  Badge,
  Button,
  Card,
  Group,
  Menu,
  SegmentedControl,
  Skeleton,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { useDebouncedValue, useDisclosure, useInViewport } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  Archive,
  Bot,
  Copy,
  MoreHorizontal,
  Plus,
  RotateCcw,
  Search,
  Trash2,
} from '../../components/build-icons.ts';
import { useMemo, useState } from 'react';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useDailyStatistics } from '../../api/daily-statistics.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, formatLatency } from '../../components/format.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { tellFailure } from '../../components/tell-failure.ts';
import { Time } from '../../components/time.tsx';
import { liveVersionOf } from './agent-draft.ts';
import { CreateAgent } from './create-agent.tsx';

type Agent = components['schemas']['Agent'];

const WEEK_DAYS = 7;

export default function AgentsPage() {
  const { orgId, projectId, can } = useProject();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const [shown, setShown] = useState('live');
  const [creating, setCreating] = useState(false);
  const query = { archived: shown === 'archived', ...(q !== '' && { q }) };
  const path = { org_id: orgId, project_id: projectId };
  const agents = usePages({
    queryKey: ['agents', projectId, 'pages', query],
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', {
          params: { path, query: { ...query, ...page } },
        }),
      ),
  });
  const { items } = agents;
  const mayWrite = can('edit');
  const isFiltered = q !== '' || shown === 'archived';
  return (
    <>
      <PageHeader
        title="Agents"
        text="Who answers and calls. Figures are of the last seven days."
        actions={
          mayWrite && (
            <Button leftSection={<Plus size={16} />} onClick={() => setCreating(true)}>
              New agent
            </Button>
          )
        }
        request={{
          method: 'GET',
          path: `/v1/orgs/${orgId}/projects/${projectId}/agents?archived=${String(query.archived)}`,
        }}
      />
      <Group gap="sm" mb="md">
        <TextInput
          flex={1}
          miw={160}
          maw={360}
          leftSection={<Search size={16} />}
          placeholder="Search by name"
          aria-label="Search agents"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <SegmentedControl
          value={shown}
          onChange={setShown}
          aria-label="Which agents"
          data={[
            { value: 'live', label: 'In use' },
            { value: 'archived', label: 'Archived' },
          ]}
        />
      </Group>
      {agents.error ? (
        <ErrorMessage error={agents.error} onRetry={agents.retry} />
      ) : items?.length === 0 ? (
        isFiltered ? (
          <EmptyState title="Nothing found" text="No agent has such a name." icon={Search} />
        ) : (
          <EmptyState
            icon={Bot}
            title="No agents yet"
            text="An agent is what talks: a prompt, a voice and what it can do. Begin with a template and change it as you like."
            action={mayWrite && <Button onClick={() => setCreating(true)}>Create the first agent</Button>}
          />
        )
      ) : (
        <>
          <AgentTable agents={items} mayWrite={mayWrite} />
          <LoadMore shown={items?.length ?? 0} {...agents} />
        </>
      )}
      <CreateAgent opened={creating} onClose={() => setCreating(false)} />
    </>
  );
}

function AgentTable({ agents, mayWrite }: { agents: readonly Agent[] | undefined; mayWrite: boolean }) {
  const statistics = useDailyStatistics(WEEK_DAYS, 'agent').query.data?.items;
  const byAgent = useMemo(
    () => statistics && new Map(statistics.map((one) => [one.agent_id, one])),
    [statistics],
  );
  return (
    <Card withBorder radius="md" p={0}>
      <Table verticalSpacing="sm" highlightOnHover layout="fixed">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Name</Table.Th>
            <Table.Th w={150} visibleFrom="sm">
              Live version
            </Table.Th>
            <Table.Th w={90} ta="right">
              Calls
            </Table.Th>
            <Table.Th w={100} ta="right" visibleFrom="md">
              Minutes
            </Table.Th>
            <Table.Th w={120} ta="right" visibleFrom="md">
              Reply time
            </Table.Th>
            <Table.Th w={150} visibleFrom="lg">
              Changed
            </Table.Th>
            <Table.Th w={48} aria-label="Actions" />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {agents?.map((agent) => (
            <AgentRow
              key={agent.id}
              agent={agent}
              figures={byAgent && (byAgent.get(agent.id) ?? null)}
              mayWrite={mayWrite}
            />
          )) ??
            Array.from({ length: 5 }, (_, index) => (
              <Table.Tr key={index}>
                <Table.Td colSpan={7}>
                  <Skeleton h={28} />
                </Table.Td>
              </Table.Tr>
            ))}
        </Table.Tbody>
      </Table>
    </Card>
  );
}

function AgentRow({
  agent,
  figures,
  mayWrite,
}: {
  agent: Agent;
  /** Of the last week; null without calls, undefined until they are there. */
  figures: components['schemas']['DailyStatistics'] | null | undefined;
  mayWrite: boolean;
}) {
  const { projectId } = useProject();
  const { ref, inViewport } = useInViewport<HTMLTableRowElement>();
  const path = { agent_id: agent.id };
  const traffic = useQuery({
    queryKey: ['agent', agent.id, 'traffic'],
    queryFn: () => take(api.GET('/v1/agents/{agent_id}/traffic', { params: { path } })),
    enabled: inViewport,
    staleTime: 60_000,
  });
  const live = liveVersionOf(agent.version, traffic.data);
  const replyMs = figures?.reply_latency.median_ms;
  const liveWords =
    traffic.data?.mode === 'pinned' && traffic.data.splits.length > 1
      ? traffic.data.splits.map(({ version, weight: share }) => `v${version} ${share} %`).join(' · ')
      : `v${live}`;
  return (
    <Table.Tr ref={ref}>
      <Table.Td>
        <Anchor
          fw={600}
          c="inherit"
          truncate
          display="block"
          renderRoot={(props) => (
            <Link
              {...props}
              to="/projects/$projectId/agents/$agentId"
              params={{ projectId, agentId: agent.id }}
            />
          )}
        >
          {agent.name}
        </Anchor>
        <Text size="xs" c="dimmed" truncate>
          {agent.flow_definition ? 'Flow · ' : ''}
          {agent.system_prompt === '' ? 'No prompt yet' : agent.system_prompt}
        </Text>
        <Text size="xs" hiddenFrom="sm" truncate>
          {[
            ...(traffic.data ? [`Live ${liveWords}`] : []),
            ...(replyMs == null ? [] : [`replies in ${formatLatency(replyMs)}`]),
          ].join(' · ')}
        </Text>
      </Table.Td>
      <Table.Td visibleFrom="sm">
        {traffic.data && (
          <Group gap={6} wrap="nowrap">
            <Badge variant="dot" color="green" tt="none">
              {liveWords}
            </Badge>
            {live !== agent.version && (
              <Badge variant="dot" color="yellow" tt="none">
                draft v{agent.version}
              </Badge>
            )}
          </Group>
        )}
      </Table.Td>
      <Figure value={figures === undefined ? undefined : formatCount(figures?.sessions ?? 0)} />
      <Figure
        value={figures === undefined ? undefined : formatCount(Math.round(figures?.minutes ?? 0))}
        visibleFrom="md"
      />
      <Figure
        value={figures === undefined ? undefined : replyMs == null ? '–' : formatLatency(replyMs)}
        visibleFrom="md"
      />
      <Table.Td visibleFrom="lg">
        <Text size="sm" c="dimmed">
          <Time value={agent.updated_at} />
        </Text>
      </Table.Td>
      <Table.Td>{mayWrite && <AgentMenu agent={agent} />}</Table.Td>
    </Table.Tr>
  );
}

function Figure({ value, visibleFrom }: { value: string | undefined; visibleFrom?: 'md' }) {
  return (
    <Table.Td ta="right" {...(visibleFrom && { visibleFrom })} style={{ fontVariantNumeric: 'tabular-nums' }}>
      {value ?? <Skeleton h={14} w={40} ml="auto" />}
    </Table.Td>
  );
}

function AgentMenu({ agent }: { agent: Agent }) {
  const { can } = useProject();
  const queries = useQueryClient();
  const [deleting, confirmDelete] = useDisclosure(false);
  const [archiving, confirmArchive] = useDisclosure(false);
  const path = { agent_id: agent.id };
  const refresh = () =>
    Promise.all([
      queries.invalidateQueries({ queryKey: ['agents'] }),
      queries.invalidateQueries({ queryKey: ['choices', 'agent'] }),
    ]);
  const act = useMutation({
    mutationFn: async (what: 'duplicate' | 'restore') => {
      if (what === 'duplicate') await take(api.POST('/v1/agents/{agent_id}/duplicate', { params: { path } }));
      else await take(api.POST('/v1/agents/{agent_id}/restore', { params: { path } }));
    },
    onSuccess: refresh,
    onError: (error) => tellFailure(agent.name, error),
  });
  return (
    <>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Actions for ${agent.name}`}
            loading={act.isPending}
          >
            <MoreHorizontal size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<Copy size={14} />} onClick={() => act.mutate('duplicate')}>
            Duplicate
          </Menu.Item>
          {agent.archived_at === null ? (
            <Menu.Item leftSection={<Archive size={14} />} color="red" onClick={confirmArchive.open}>
              Archive
            </Menu.Item>
          ) : (
            <>
              <Menu.Item leftSection={<RotateCcw size={14} />} onClick={() => act.mutate('restore')}>
                Restore
              </Menu.Item>
              {can('administer') && (
                <Menu.Item leftSection={<Trash2 size={14} />} color="red" onClick={confirmDelete.open}>
                  Delete for good
                </Menu.Item>
              )}
            </>
          )}
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        opened={archiving}
        onClose={confirmArchive.close}
        title={`Archive ${agent.name}`}
        text="It takes and makes no more calls, and cannot be changed. Its calls and versions stay, and it can be restored."
        confirm="Archive"
        onConfirm={async () => {
          await take(api.DELETE('/v1/agents/{agent_id}', { params: { path } }));
          await refresh();
        }}
      />
      <ConfirmDialog
        opened={deleting}
        onClose={confirmDelete.close}
        title={`Delete ${agent.name} for good`}
        text="Its versions, its tests and what it remembers of callers go with it; its calls stay. This cannot be undone."
        confirm="Delete for good"
        onConfirm={async () => {
          await take(api.DELETE('/v1/agents/{agent_id}', { params: { path, query: { purge: true } } }));
          await refresh();
        }}
      />
    </>
  );
}
