import { Card, ScrollArea, Table, Text, Title, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { Drawer } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { DELIVERIES, WebhookDelivery } from '../../components/webhook-delivery.tsx';

/** What was sent by the call-ended webhook, and how it was answered. */
export function Deliveries({ agentId }: { agentId: string }) {
  const [open, setOpen] = useState<string | null>(null);
  const deliveries = usePages({
    queryKey: [DELIVERIES, 'agent', agentId],
    read: (page) =>
      take(
        api.GET('/v1/agents/{agent_id}/webhook-deliveries', {
          params: { path: { agent_id: agentId }, query: page },
        }),
      ),
    everyMs: 10_000,
  });
  const shown = deliveries.items?.find(({ id }) => id === open);
  return (
    <Card withBorder radius="md" p="lg">
      <Title order={2} size="h4">
        Deliveries
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        Newest first.
      </Text>
      {deliveries.error ? (
        <ErrorMessage error={deliveries.error} onRetry={deliveries.retry} />
      ) : deliveries.items?.length === 0 ? (
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
              {deliveries.items?.map((delivery) => (
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
      {deliveries.items && <LoadMore shown={deliveries.items.length} {...deliveries} />}
      <Drawer
        opened={shown !== undefined}
        onClose={() => setOpen(null)}
        position="right"
        size="lg"
        title="Delivery"
      >
        {shown && <WebhookDelivery delivery={shown} />}
      </Drawer>
    </Card>
  );
}
