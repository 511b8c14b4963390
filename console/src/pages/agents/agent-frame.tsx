import { ActionIcon, Badge, Group, Stack, Tabs, Text, Title, Tooltip } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { ChevronLeft } from '../../components/build-icons.ts';
import type { ReactNode } from 'react';
import { PAGES } from '../../app/pages.ts';
import { useProject } from '../../app/project.ts';
import { roleAtLeast } from '../../app/roles.ts';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { PageError } from '../../components/page-error.tsx';
import { liveVersionOf } from './agent-draft.ts';
import { useAgent, useTraffic } from './use-agent-editor.ts';

const readsAgent = (id: string) => `/v1/agents/${id}`;

/** Pages of an agent, by the end of their path, with what they read; those that are there are offered. */
const TABS = [
  { end: '', id: 'editor', title: 'Editor', reads: readsAgent },
  { end: '/flow', id: 'flow', title: 'Flow', reads: readsAgent },
  { end: '/talk', id: 'talk', title: 'Talk', reads: readsAgent },
  { end: '/tests', id: 'tests', title: 'Tests', reads: (id: string) => `/v1/agents/${id}/tests` },
  { end: '/versions', id: 'versions', title: 'Versions', reads: (id: string) => `/v1/agents/${id}/versions` },
  {
    end: '/advance',
    id: 'advance',
    title: 'Advance',
    reads: (id: string) => `/api/v1/webhooks/agents/${id}`,
  },
] as const;

/** On a narrow screen the tabs scroll: the one that is open is seen. */
function intoSight(tab: HTMLButtonElement | null): void {
  const list = tab?.parentElement;
  if (tab && list) list.scrollLeft = tab.offsetLeft + tab.offsetWidth - list.clientWidth;
}

/** What stands above each page of an agent. */
export function AgentFrame({
  agentId,
  actions,
  children,
}: {
  agentId: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const { projectId, role } = useProject();
  useDocumentTitle(`${useAgent(agentId).data?.name ?? 'Agent'} · Parley`);
  const navigate = useNavigate();
  const agent = useAgent(agentId);
  const traffic = useTraffic(agentId);
  const { pathname } = useLocation();
  const root = `/projects/${projectId}/agents/${agentId}`;
  const tab = TABS.find(({ end }) => pathname === `${root}${end}`) ?? TABS[0];
  const offered = TABS.filter(({ end }) =>
    PAGES.some(
      (page) =>
        page.path === `/projects/$projectId/agents/$agentId${end}` &&
        roleAtLeast(role, page.role ?? 'viewer'),
    ),
  );
  if (agent.error && !agent.data)
    return <PageError error={agent.error} onRetry={() => void agent.refetch()} />;
  const live = agent.data && traffic.data && liveVersionOf(agent.data.version, traffic.data);
  return (
    <Stack gap="md">
      <Group justify="space-between" align="center" gap="sm">
        <Group gap="xs" wrap="nowrap" miw={0}>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="All agents"
            renderRoot={(props) => (
              <Link {...props} to="/projects/$projectId/agents" params={{ projectId }} />
            )}
          >
            <ChevronLeft size={18} />
          </ActionIcon>
          <Title order={1} size="h3" textWrap="balance" lineClamp={1}>
            {agent.data?.name ?? ' '}
          </Title>
          {agent.data && live !== undefined && (
            <Group gap={6} wrap="nowrap" style={{ flexShrink: 0 }}>
              <Tooltip label="The version that callers get">
                <Badge variant="dot" color="green" tt="none">
                  v{live} live
                </Badge>
              </Tooltip>
              {live !== agent.data.version && (
                <Tooltip label="The newest version: callers do not get it yet">
                  <Badge variant="dot" color="yellow" tt="none">
                    v{agent.data.version} draft
                  </Badge>
                </Tooltip>
              )}
              {agent.data.archived_at !== null && (
                <Badge variant="default" tt="none">
                  archived
                </Badge>
              )}
            </Group>
          )}
        </Group>
        <Group gap="xs">
          {actions}
          <CopyCurl request={{ method: 'GET', path: tab.reads(agentId) }} />
        </Group>
      </Group>
      <Tabs
        value={tab.id}
        onChange={(next) => void navigate({ to: `${root}${TABS.find(({ id }) => id === next)?.end ?? ''}` })}
        styles={{ list: { flexWrap: 'nowrap', overflowX: 'auto', overflowY: 'hidden' } }}
      >
        <Tabs.List>
          {offered.map(({ id, title }) => (
            <Tabs.Tab key={id} value={id} ref={id === tab.id ? intoSight : undefined}>
              <Text size="sm" fw={tab.id === id ? 600 : 400}>
                {title}
              </Text>
            </Tabs.Tab>
          ))}
        </Tabs.List>
      </Tabs>
      {children}
    </Stack>
  );
}
