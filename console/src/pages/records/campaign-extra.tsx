import { Button, Card, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { labelOf } from '../../components/schema-form/field.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import type { ExtraProps } from './record-extras.tsx';

const WHILE_RUNNING_MS = 2000;

/** How a campaign goes, live, and what can be done with it now. */
export default function CampaignExtra({ record, onChanged }: ExtraProps) {
  const { can } = useProject();
  const params = { path: { campaign_id: String(record['id']) } };
  const campaign = useQuery({
    queryKey: ['campaign', record['id']],
    queryFn: () => take(api.GET('/v1/campaigns/{campaign_id}', { params })),
    refetchInterval: ({ state }) =>
      ['running', 'scheduled'].includes(state.data?.status ?? '') ? WHILE_RUNNING_MS : false,
  });
  const act = useMutation({
    mutationFn: (what: 'start' | 'pause' | 'resume' | 'cancel') =>
      take(api.POST(`/v1/campaigns/{campaign_id}/${what}`, { params })),
    async onSuccess() {
      await campaign.refetch();
      onChanged();
    },
  });
  if (campaign.error) return <ErrorMessage error={campaign.error} />;
  if (!campaign.data) return null;
  const { status, counters } = campaign.data;
  const counts = Object.entries(counters).filter(([key]) => key !== 'total');
  const total = Math.max(1, (counters as Record<string, number>)['total'] ?? 0);
  const done = (counters as Record<string, number>)['completed'] ?? 0;
  const failed = (counters as Record<string, number>)['failed'] ?? 0;
  return (
    <Card withBorder radius="md" p="md">
      <Group justify="space-between" mb="sm">
        <StatusBadge status={status} />
        {can('edit') && (
          <Group gap="xs">
            {['draft', 'scheduled'].includes(status) && (
              <Button size="xs" loading={act.isPending} onClick={() => act.mutate('start')}>
                Start
              </Button>
            )}
            {status === 'running' && (
              <Button size="xs" variant="default" loading={act.isPending} onClick={() => act.mutate('pause')}>
                Pause
              </Button>
            )}
            {status === 'paused' && (
              <Button size="xs" loading={act.isPending} onClick={() => act.mutate('resume')}>
                Resume
              </Button>
            )}
            {['running', 'paused', 'scheduled'].includes(status) && (
              <Button
                size="xs"
                variant="default"
                loading={act.isPending}
                onClick={() => act.mutate('cancel')}
              >
                Cancel
              </Button>
            )}
          </Group>
        )}
      </Group>
      <Progress.Root size="md" aria-label={`${done} of ${total} reached`}>
        <Progress.Section value={(100 * done) / total} color="green" />
        <Progress.Section value={(100 * failed) / total} color="red" />
      </Progress.Root>
      <SimpleGrid cols={{ base: 2, xs: 4 }} mt="sm" spacing="xs">
        {[['total', (counters as Record<string, number>)['total'] ?? 0] as [string, number], ...counts].map(
          ([key, count]) => (
            <div key={key}>
              <Text size="xs" c="dimmed">
                {labelOf(key)}
              </Text>
              <Text fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
                {count}
              </Text>
            </div>
          ),
        )}
      </SimpleGrid>
      {act.error && <ErrorMessage error={act.error} />}
    </Card>
  );
}
