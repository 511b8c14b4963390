import {
  Alert,
  Button,
  Card,
  Divider,
  Group,
  NumberInput,
  Stack,
  Switch,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { Send } from '../../components/build-icons.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { useSettings } from './agent-webhooks.ts';
import type { CallEnded } from './agent-webhooks.ts';
import { SecretRow } from './webhook-secret.tsx';

/** The webhook that tells another system what came of a call. */
export function CallEndedCard({ agentId, settings }: { agentId: string; settings: CallEnded }) {
  const { can } = useProject();
  const show = useSettings(agentId);
  const [draft, setDraft] = useState(settings);
  const path = { agent_id: agentId };
  const body = withoutSecret(draft);
  const save = useMutation({
    mutationFn: () =>
      take(api.PUT('/api/v1/webhooks/agents/{agent_id}/call-ended', { params: { path }, body })),
    onSuccess: show,
  });
  const test = useMutation({
    mutationFn: () =>
      take(api.POST('/api/v1/webhooks/agents/{agent_id}/call-ended/test', { params: { path } })),
  });
  const readOnly = !can('edit');
  const isChanged = JSON.stringify(body) !== JSON.stringify(withoutSecret(settings));
  const wrong = save.error instanceof ApiError ? save.error.fields : [];
  const errorOf = (field: string) =>
    wrong
      .filter((fault) => fault.path[0] === field)
      .map(({ message }) => message)
      .join(' ') || undefined;
  const set = (change: Partial<CallEnded>) => setDraft({ ...draft, ...change });
  const toggle = (
    field: 'web_calls' | 'phone_calls' | 'include_unanswered',
    label: string,
    description: string,
  ) => (
    <Switch
      label={label}
      description={description}
      checked={draft[field]}
      disabled={readOnly}
      onChange={(event) => set({ [field]: event.currentTarget.checked })}
    />
  );
  return (
    <Card withBorder radius="md" p="lg">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <div>
            <Title order={2} size="h4">
              When a call has ended
            </Title>
            <Text size="sm" c="dimmed">
              What came of the call is sent to an address of yours, signed, and again until it was taken.
            </Text>
          </div>
          <Switch
            size="md"
            checked={draft.enabled}
            disabled={readOnly}
            aria-label="Call-ended webhook"
            onChange={(event) => set({ enabled: event.currentTarget.checked })}
          />
        </Group>
        <Stack gap="md" mt="md">
          <TextInput
            label="Address"
            type="url"
            placeholder="https://crm.example.com/calls"
            value={draft.url ?? ''}
            error={errorOf('url')}
            readOnly={readOnly}
            onChange={(event) =>
              set({ url: event.currentTarget.value === '' ? null : event.currentTarget.value })
            }
          />
          <SecretRow agentId={agentId} webhook="call_ended" secret={settings.secret} />
          <Divider />
          {toggle('phone_calls', 'Telephone calls', 'Inbound and outbound.')}
          {toggle('web_calls', 'Web calls', 'From pages and apps.')}
          {toggle('include_unanswered', 'Calls that nobody answered', 'Busy, no answer, or failed.')}
          <NumberInput
            label="Time to answer"
            description="After that a delivery has failed, and is tried again."
            value={draft.timeout_ms}
            min={1000}
            max={30_000}
            step={1000}
            suffix=" ms"
            maw={240}
            error={errorOf('timeout_ms')}
            readOnly={readOnly}
            onChange={(value) => typeof value === 'number' && set({ timeout_ms: value })}
          />
          {save.error && wrong.length === 0 && <ErrorMessage error={save.error} />}
          {test.error && <ErrorMessage error={test.error} />}
          {test.data && (
            <Alert
              color={test.data.ok ? 'green' : 'red'}
              variant="light"
              title={test.data.ok ? `Taken in ${test.data.ms} ms` : 'Not taken'}
              withCloseButton
              onClose={test.reset}
            >
              {test.data.ok
                ? `The address answered with status ${test.data.status ?? 200}.`
                : (test.data.error ?? `The address answered with status ${test.data.status ?? 0}.`)}
            </Alert>
          )}
          {!readOnly && (
            <Group justify="flex-end">
              <Button
                variant="default"
                leftSection={<Send size={14} />}
                loading={test.isPending}
                disabled={settings.url === null || isChanged}
                onClick={() => test.mutate()}
              >
                Send a sample
              </Button>
              <Button type="submit" loading={save.isPending} disabled={!isChanged}>
                Save
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Card>
  );
}

function withoutSecret({ secret: _, ...rest }: CallEnded): Omit<CallEnded, 'secret'> {
  return rest;
}
