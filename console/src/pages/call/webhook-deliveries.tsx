import { Stack, Text } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import { ErrorMessage } from '../../components/error-message.tsx';
import { WebhookDelivery } from '../../components/webhook-delivery.tsx';
import type { Delivery } from './call-data.ts';

/** Where the end of the call was reported to, and how that went. */
export function WebhookDeliveries({
  deliveries,
  hasAgent,
}: {
  deliveries: UseQueryResult<Delivery[]>;
  hasAgent: boolean;
}) {
  if (deliveries.error)
    return <ErrorMessage error={deliveries.error} onRetry={() => void deliveries.refetch()} />;
  if (!hasAgent || deliveries.data?.length === 0)
    return (
      <Text size="sm" c="dimmed">
        Nothing was sent. A call is reported where its agent has a call-ended webhook.
      </Text>
    );
  return (
    <Stack gap="lg">
      {deliveries.data?.map((delivery) => (
        <WebhookDelivery key={delivery.id} delivery={delivery} />
      ))}
    </Stack>
  );
}
