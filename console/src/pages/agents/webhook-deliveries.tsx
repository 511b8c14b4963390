import {
  Badge,
  Button,
  Card,
  Code,
  Drawer,
  Group,
  ScrollArea,
  Skeleton,
  Stack,
  Table,
  Text,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';

/** What was sent by the call-ended webhook, and how it was answered. */
export function Deliveries({ agentId }: { agentId: string }) {
  const [open, setOpen] = useState<string | null>(null);
  const deliveries = useQuery({
    queryKey: ['agent', agentId, 'deliveries'],
    queryFn: () =>
      take(
        api.GET('/v1/agents/{agent_id}/webhook-deliveries', {
          params: { path: { agent_id: agentId }, query: { limit: 50 } },
        }),
      ),
    refetchInterval: 10_000,
    placeholderData: keepPreviousData,
  });
  return (
    <Card withBorder radius="md" p="lg">
      <Title order={2} size="h4">
        Deliveries
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        The latest 50, newest first.
      </Text>
      {deliveries.error ? (
        <ErrorMessage error={deliveries.error} onRetry={() => void deliveries.refetch()} />
      ) : deliveries.data?.items.length === 0 ? (
        <Text size="sm">Nothing was sent yet.</Text>
      ) : (
        <ScrollArea>
          <Table miw={480}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Sent</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th>Answer</Table.Th>
                <Table.Th ta="right">Attempts</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {deliveries.data?.items.map((delivery) => (
                <Table.Tr key={delivery.id}>
                  <Table.Td>
                    <UnstyledButton
                      fz="sm"
                      c="var(--mantine-color-anchor)"
                      onClick={() => setOpen(delivery.id)}
                    >
                      <Time value={delivery.created_at} />
                    </UnstyledButton>
                  </Table.Td>
                  <Table.Td>
                    <StatusBadge status={delivery.status} />
                  </Table.Td>
                  <Table.Td>
                    <Text size="sm" c="dimmed" lineClamp={1}>
                      {delivery.last_error ?? delivery.last_status ?? '–'}
                    </Text>
                  </Table.Td>
                  <Table.Td ta="right">{delivery.attempts}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      <Drawer
        opened={open !== null}
        onClose={() => setOpen(null)}
        position="right"
        size="lg"
        title="Delivery"
      >
        {open !== null && <Delivery agentId={agentId} deliveryId={open} />}
      </Drawer>
    </Card>
  );
}

function Delivery({ agentId, deliveryId }: { agentId: string; deliveryId: string }) {
  const { can } = useProject();
  const queries = useQueryClient();
  const path = { delivery_id: deliveryId };
  const delivery = useQuery({
    queryKey: ['delivery', deliveryId],
    queryFn: () => take(api.GET('/v1/webhook-deliveries/{delivery_id}', { params: { path } })),
  });
  const redeliver = useMutation({
    mutationFn: () => take(api.POST('/v1/webhook-deliveries/{delivery_id}/redeliver', { params: { path } })),
    onSuccess: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['delivery', deliveryId] }),
        queries.invalidateQueries({ queryKey: ['agent', agentId, 'deliveries'] }),
      ]),
  });
  if (delivery.error) return <ErrorMessage error={delivery.error} />;
  if (!delivery.data) return <Skeleton h={240} />;
  const { status, attempts, url, last_status, last_error, created_at, delivered_at, payload } = delivery.data;
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="xs">
          <StatusBadge status={status} />
          <Badge variant="default" tt="none">
            {attempts} {attempts === 1 ? 'attempt' : 'attempts'}
          </Badge>
        </Group>
        {can('edit') && (
          <Button
            size="xs"
            variant="default"
            loading={redeliver.isPending}
            onClick={() => redeliver.mutate()}
          >
            Send again
          </Button>
        )}
      </Group>
      {redeliver.error && <ErrorMessage error={redeliver.error} />}
      <Fact name="Address">{url}</Fact>
      <Fact name="Made">
        <Time value={created_at} form="long" />
      </Fact>
      <Fact name="Delivered">
        <Time value={delivered_at} form="long" />
      </Fact>
      <Fact name="Answer">{last_error ?? last_status ?? '–'}</Fact>
      <Code block tabIndex={0} style={{ maxHeight: 480, overflow: 'auto' }}>
        {payload === null ? 'The body was erased.' : JSON.stringify(payload, null, 2)}
      </Code>
    </Stack>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <Group wrap="nowrap" gap="md" align="flex-start">
      <Text size="sm" c="dimmed" w={90}>
        {name}
      </Text>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
    </Group>
  );
}
