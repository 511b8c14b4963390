import { Button, Group, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { RefreshCw } from '../../components/icons.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import type { Delivery } from './call-data.ts';

const SETTLED = ['succeeded', 'failed', 'cancelled'];

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
        <OneDelivery key={delivery.id} delivery={delivery} />
      ))}
    </Stack>
  );
}

function OneDelivery({ delivery }: { delivery: Delivery }) {
  const { can } = useProject();
  const client = useQueryClient();
  const [state, setState] = useState<{ busy: boolean; error?: unknown; payload?: string }>({ busy: false });
  const path = { params: { path: { delivery_id: delivery.id } } };
  async function run(work: () => Promise<{ payload?: string }>) {
    setState(({ payload }) => ({ busy: true, ...(payload !== undefined && { payload }) }));
    try {
      setState({ busy: false, ...(await work()) });
    } catch (error) {
      setState({ busy: false, error });
    }
  }
  const redeliver = async () => {
    await take(api.POST('/v1/webhook-deliveries/{delivery_id}/redeliver', path));
    await client.invalidateQueries({ queryKey: ['session-deliveries', delivery.session_id] });
    return {};
  };
  const showBody = async () => {
    const { payload } = await take(api.GET('/v1/webhook-deliveries/{delivery_id}', path));
    return { payload: payload === null ? 'Erased.' : JSON.stringify(payload, null, 2) };
  };
  return (
    <section>
      <Group gap={8} mb={4}>
        <Text fw={600} size="sm" component="h3">
          {delivery.event}
        </Text>
        <StatusBadge status={delivery.status} />
      </Group>
      <dl className="fields">
        <div>
          <dt>Address</dt>
          <dd>{delivery.url}</dd>
        </div>
        <div>
          <dt>Attempts</dt>
          <dd>
            {delivery.attempts}
            {delivery.last_status !== null && `, last answer ${delivery.last_status}`}
            {delivery.last_error !== null && `, ${delivery.last_error}`}
          </dd>
        </div>
        <div>
          <dt>{delivery.delivered_at === null ? 'Next attempt' : 'Delivered'}</dt>
          <dd>
            <Time value={delivery.delivered_at ?? delivery.next_attempt_at} form="long" />
          </dd>
        </div>
      </dl>
      <Group gap="xs" mt={8}>
        {can('edit') && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<RefreshCw size={14} />}
            disabled={!SETTLED.includes(delivery.status)}
            loading={state.busy}
            onClick={() => void run(redeliver)}
          >
            Redeliver
          </Button>
        )}
        {state.payload === undefined && (
          <Button size="compact-sm" variant="default" onClick={() => void run(showBody)}>
            Show body
          </Button>
        )}
      </Group>
      {state.error !== undefined && <ErrorMessage error={state.error} />}
      {state.payload !== undefined && (
        <pre className="json" tabIndex={0}>
          {state.payload}
        </pre>
      )}
    </section>
  );
}
