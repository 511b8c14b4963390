import { Card, Skeleton, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useParam } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { AgentFrame } from './agent-frame.tsx';
import { TrafficCard } from './traffic-card.tsx';
import { useTraffic } from './use-agent-editor.ts';
import { Comparison } from './version-comparison.tsx';
import { VersionTable } from './version-table.tsx';

/** What an agent was, which version callers get, and what came of it. */
export default function VersionsPage() {
  const agentId = useParam('agentId');
  const versions = useQuery({
    queryKey: ['agent', agentId, 'versions'],
    queryFn: () =>
      readAll(
        (page) =>
          take(
            api.GET('/v1/agents/{agent_id}/versions', {
              params: { path: { agent_id: agentId }, query: page },
            }),
          ),
        ({ version }) => version,
      ),
  });
  const traffic = useTraffic(agentId);
  const retry = useRetryFailed();
  const [picked, setPicked] = useState<{ before?: number; after?: number }>({});
  const items = versions.data;
  const newest = items?.[0]?.version;
  const after = picked.after ?? newest;
  const before = picked.before ?? items?.find(({ version }) => version !== after)?.version;
  const failure = versions.error ?? traffic.error;
  return (
    <AgentFrame agentId={agentId}>
      {failure ? (
        <ErrorMessage error={failure} onRetry={retry} />
      ) : !items || !traffic.data ? (
        <Skeleton h={320} radius="md" />
      ) : (
        <Stack gap="lg">
          <TrafficCard
            key={JSON.stringify(traffic.data)}
            agentId={agentId}
            versions={items}
            traffic={traffic.data}
          />
          <Card withBorder radius="md" p="lg">
            <Title order={2} size="h4">
              History
            </Title>
            <Text size="sm" c="dimmed" mb="sm">
              Each save is a version. Pick two to see them beside each other.
            </Text>
            <VersionTable
              agentId={agentId}
              versions={items}
              traffic={traffic.data}
              before={before}
              after={after}
              onPick={(change) => setPicked({ ...picked, ...change })}
            />
          </Card>
          {before !== undefined && after !== undefined && before !== after && (
            <Comparison agentId={agentId} before={before} after={after} />
          )}
        </Stack>
      )}
    </AgentFrame>
  );
}
