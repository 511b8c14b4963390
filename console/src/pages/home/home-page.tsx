import { Anchor, Badge, Button, Card, Group, SimpleGrid, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import { api, take } from '../../api/client.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useProject } from '../../app/project.ts';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { Duration } from '../../components/duration.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Check, Phone } from '../../components/icons.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { useAgentNames } from '../calls/call-data.ts';
import type { ListedCall } from '../calls/call-data.ts';
import { endOf, farEndOf } from '../calls/call-words.ts';
import { DailyCharts } from './daily-charts.tsx';
import { Now } from './now.tsx';
import { Today } from './today.tsx';
import { firstSteps } from './first-steps.ts';
import type { StepId } from './first-steps.ts';

const LATEST = 10;

export default function HomePage() {
  const { orgId, projectId, projectName, timezone } = useProject();
  const agents = useAgentNames({ orgId, projectId });
  const columns = useMemo(() => columnsOf(agents), [agents]);
  const navigate = useNavigate();
  const path = { org_id: orgId, project_id: projectId };
  const sessions = useQuery({
    queryKey: ['sessions', projectId, 'latest'],
    refetchInterval: 15_000,
    queryFn: () =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/sessions', {
          params: { path, query: { limit: LATEST, sort: '-created_at', detail: true } },
        }),
      ),
  });
  return (
    <>
      <PageHeader
        title={projectName}
        text="What the calls of this project are like, and what is left to set up."
        request={{
          method: 'GET',
          path: `/v1/orgs/${orgId}/projects/${projectId}/statistics/daily?timezone=${encodeURIComponent(timezone)}`,
        }}
      />
      <Stack gap="xl">
        {sessions.data && <FirstSteps calls={sessions.data.total ?? sessions.data.items.length} />}
        <Now />
        <Today />
        <DailyCharts />
        <section aria-labelledby="latest">
          <Group justify="space-between" mb="sm">
            <Title order={2} size="h4" id="latest">
              Latest calls
            </Title>
            <Anchor component={Link} to={`/projects/${projectId}/calls`} size="sm" underline="always">
              All calls
            </Anchor>
          </Group>
          <QueryContent query={sessions}>
            {({ items }) =>
              items.length === 0 ? (
                <EmptyState
                  icon={Phone}
                  title="No call yet"
                  text="Calls stand here as they are held: by telephone, in the browser, or typed."
                />
              ) : (
                <DataTable
                  label="Latest calls"
                  rows={items}
                  columns={columns}
                  rowKey={({ session_id }) => session_id}
                  onOpen={({ session_id }) =>
                    void navigate({ to: `/projects/${projectId}/calls/${session_id}` })
                  }
                />
              )
            }
          </QueryContent>
        </section>
      </Stack>
    </>
  );
}

/** What is told of each of the latest calls. @param agents names by id */
function columnsOf(agents: ReadonlyMap<string, string>): DataColumn<ListedCall>[] {
  return [
    { id: 'when', title: 'Time', cell: ({ created_at }) => <Time value={created_at} />, width: '150px' },
    {
      id: 'caller',
      title: 'Caller',
      width: 'minmax(150px, 1fr)',
      cell: (call) => <bdi>{farEndOf(call) ?? (call.direction === 'web' ? 'Web visitor' : 'Unknown')}</bdi>,
    },
    {
      id: 'agent',
      title: 'Agent',
      width: 'minmax(140px, 1fr)',
      cell: ({ agent_id }) => (agent_id === null ? '–' : <bdi>{agents.get(agent_id) ?? agent_id}</bdi>),
    },
    { id: 'status', title: 'Status', cell: ({ status }) => <StatusBadge status={status} />, width: '130px' },
    { id: 'end', title: 'Ended', cell: (call) => endOf(call) ?? '–', width: 'minmax(140px, 1fr)' },
    {
      id: 'duration',
      title: 'Duration',
      align: 'end',
      width: '110px',
      cell: ({ duration_seconds }) => <Duration seconds={duration_seconds} />,
    },
  ];
}

/** The way to a first call, until it is gone or skipped. */
function FirstSteps({ calls }: { calls: number }) {
  const { orgId, projectId, can } = useProject();
  const retry = useRetryFailed();
  const [skipped, setSkipped] = useLocalStorage<StepId[]>({
    key: `parley.skipped-steps.${projectId}`,
    defaultValue: [],
    getInitialValueInEffect: false,
  });
  const path = { org_id: orgId, project_id: projectId };
  const agents = useQuery({
    queryKey: ['agents', projectId, 'first'],
    queryFn: () =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', { params: { path, query: { limit: 1 } } }),
      ),
  });
  const numbers = useQuery({
    queryKey: ['phone-numbers', projectId, 'first'],
    queryFn: () =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/phone-numbers', {
          params: { path, query: { limit: 1 } },
        }),
      ),
  });
  if (!can('edit')) return null;
  const failure = agents.error ?? numbers.error;
  if (failure && (!agents.data || !numbers.data)) return <ErrorMessage error={failure} onRetry={retry} />;
  if (!agents.data || !numbers.data) return null;
  const agent = agents.data.items[0];
  const steps = firstSteps(
    { agents: agents.data.items.length, calls, numbers: numbers.data.items.length },
    new Set(skipped),
  );
  if (steps.length === 0) return null;
  const texts: Record<StepId, { title: string; text: string; action?: { label: string; to: string } }> = {
    agent: {
      title: 'Make an agent',
      text: 'Who answers: its prompt, its voice, and what it may do. There are templates to begin with.',
      action: { label: 'Pick a template', to: `/projects/${projectId}/agents` },
    },
    talk: {
      title: 'Talk to it',
      text: 'In the page, with a microphone or by typing, before anybody calls it.',
      ...(agent && { action: { label: 'Talk', to: `/projects/${projectId}/agents/${agent.id}/talk` } }),
    },
    number: {
      title: 'Connect a number',
      text: 'A telephone number of your carrier, and the agent that answers there.',
      action: { label: 'Connect', to: `/projects/${projectId}/phone-numbers` },
    },
  };
  return (
    <section aria-label="First steps">
      <SimpleGrid cols={{ base: 1, sm: steps.length }}>
        {steps.map(({ id, done }, index) => {
          const { title, text, action } = texts[id];
          return (
            <Card key={id} withBorder padding="md" bg="var(--parley-surface)">
              <Stack gap={6} h="100%">
                <Group justify="space-between">
                  <ThemeIcon
                    radius="xl"
                    variant="light"
                    color={done ? 'green' : 'iris'}
                    size="md"
                    aria-hidden
                  >
                    {done ? <Check size={15} /> : index + 1}
                  </ThemeIcon>
                  {done && (
                    <Badge variant="light" color="green" tt="none">
                      Done
                    </Badge>
                  )}
                </Group>
                <Title order={2} size="h5">
                  {title}
                </Title>
                <Text size="sm" c="dimmed" style={{ flex: 1 }}>
                  {text}
                </Text>
                {!done && (
                  <Group gap="xs" mt={6}>
                    {action && (
                      <Button component={Link} to={action.to} size="compact-sm">
                        {action.label}
                      </Button>
                    )}
                    <Button size="compact-sm" variant="default" onClick={() => setSkipped([...skipped, id])}>
                      Skip
                    </Button>
                  </Group>
                )}
              </Stack>
            </Card>
          );
        })}
      </SimpleGrid>
    </section>
  );
}
