import { Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useParam } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { AgentFrame } from './agent-frame.tsx';
import { CallEndedCard } from './call-ended-card.tsx';
import { StartCallCard } from './start-call-card.tsx';
import { Deliveries } from './webhook-deliveries.tsx';

/** Both webhooks of an agent. They act at once, and belong to no version. */
export default function AdvancePage() {
  const agentId = useParam('agentId');
  const webhooks = useQuery({
    queryKey: ['agent', agentId, 'webhooks'],
    queryFn: () =>
      take(api.GET('/api/v1/webhooks/agents/{agent_id}', { params: { path: { agent_id: agentId } } })),
  });
  return (
    <AgentFrame agentId={agentId}>
      {webhooks.error ? (
        <ErrorMessage error={webhooks.error} onRetry={() => void webhooks.refetch()} />
      ) : !webhooks.data ? (
        <Skeleton h={320} radius="md" />
      ) : (
        <Stack gap="lg" maw={880}>
          <Text size="sm" c="dimmed">
            Other systems start calls, and hear when one has ended. Changes here act at once, for every
            version of the agent.
          </Text>
          <StartCallCard agentId={agentId} settings={webhooks.data.start_call} />
          <CallEndedCard
            // Another secret makes no other form: it is being shown there, once.
            key={JSON.stringify({ ...webhooks.data.call_ended, secret: null })}
            agentId={agentId}
            settings={webhooks.data.call_ended}
          />
          <Deliveries agentId={agentId} />
        </Stack>
      )}
    </AgentFrame>
  );
}
