import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../api/client.ts';
import type { components } from '../api/schema.d.ts';
import { useProject } from '../app/project.ts';
import { ErrorMessage } from './error-message.tsx';
import { Fields } from './fields.tsx';
import { RefreshCw } from './icons.ts';
import { StatusBadge } from './status-badge.tsx';
import { Time } from './time.tsx';

type Delivery = components['schemas']['WebhookDelivery'];

/** Where deliveries are kept that pages have asked for. */
export const DELIVERIES = 'webhook-deliveries';

const SETTLED = ['succeeded', 'failed', 'cancelled'];

/** What was sent by a webhook, how it was answered, and the way to send it again. */
export function WebhookDelivery({ delivery }: { delivery: Delivery }) {
  const { can } = useProject();
  const queries = useQueryClient();
  const [bodyShown, setBodyShown] = useState(false);
  const path = { params: { path: { delivery_id: delivery.id } } };
  const body = useQuery({
    queryKey: [DELIVERIES, 'body', delivery.id],
    enabled: bodyShown,
    queryFn: async () => (await take(api.GET('/v1/webhook-deliveries/{delivery_id}', path))).payload,
  });
  const redeliver = useMutation({
    mutationFn: () => take(api.POST('/v1/webhook-deliveries/{delivery_id}/redeliver', path)),
    onSuccess: () => queries.invalidateQueries({ queryKey: [DELIVERIES] }),
  });
  const error = redeliver.error ?? body.error;
  const { attempts, last_status, last_error, created_at, delivered_at, next_attempt_at } = delivery;
  const answers = [last_status === null ? null : `last answer ${last_status}`, last_error];
  return (
    <section>
      <Group gap={8} mb={4}>
        <Text fw={600} size="sm" component="h3">
          {delivery.event}
        </Text>
        <StatusBadge status={delivery.status} />
      </Group>
      <Fields
        rows={[
          ['Address', delivery.url],
          ['Attempts', [String(attempts), ...answers.filter((answer) => answer !== null)].join(', ')],
          ['Made', <Time key="made" value={created_at} form="long" />],
          [
            delivered_at === null ? 'Next attempt' : 'Delivered',
            <Time key="then" value={delivered_at ?? next_attempt_at} form="long" />,
          ],
        ]}
      />
      <Group gap="xs" mt={8}>
        {can('edit') && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<RefreshCw size={14} />}
            disabled={!SETTLED.includes(delivery.status)}
            loading={redeliver.isPending}
            onClick={() => redeliver.mutate()}
          >
            Redeliver
          </Button>
        )}
        {body.data === undefined && (
          <Button
            size="compact-sm"
            variant="default"
            loading={body.isFetching}
            onClick={() => (bodyShown ? void body.refetch() : setBodyShown(true))}
          >
            Show body
          </Button>
        )}
      </Group>
      {error && (
        <Stack mt={8}>
          <ErrorMessage error={error} />
        </Stack>
      )}
      {body.data !== undefined && (
        <pre className="json" tabIndex={0}>
          {body.data === null ? 'The body was erased.' : JSON.stringify(body.data, null, 2)}
        </pre>
      )}
    </section>
  );
}
