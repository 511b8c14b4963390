import { Card, Divider, Group, Stack, Switch, Text, Title } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { useSettings } from './agent-webhooks.ts';
import type { StartCall } from './agent-webhooks.ts';
import { CopyField, SecretRow } from './webhook-secret.tsx';

/** The webhook by which other systems start calls; each change is saved at once. */
export function StartCallCard({ agentId, settings }: { agentId: string; settings: StartCall }) {
  const { can } = useProject();
  const show = useSettings(agentId);
  const path = { agent_id: agentId };
  const save = useMutation({
    mutationFn: (change: Partial<StartCall>) => {
      const { enabled, require_timestamp, allow_overrides } = { ...settings, ...change };
      return take(
        api.PUT('/api/v1/webhooks/agents/{agent_id}/start-call', {
          params: { path },
          body: { enabled, require_timestamp, allow_overrides },
        }),
      );
    },
    onSuccess: show,
  });
  const readOnly = !can('edit') || save.isPending;
  return (
    <Card withBorder radius="md" p="lg">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <div>
          <Title order={2} size="h4">
            Start a call
          </Title>
          <Text size="sm" c="dimmed">
            A signed POST to this address calls somebody with this agent.
          </Text>
        </div>
        <Switch
          size="md"
          checked={settings.enabled}
          disabled={readOnly}
          aria-label="Start-call webhook"
          onChange={(event) => save.mutate({ enabled: event.currentTarget.checked })}
        />
      </Group>
      <Stack gap="md" mt="md">
        <CopyField label="Address" value={settings.url} />
        <SecretRow agentId={agentId} webhook="start_call" secret={settings.secret} />
        <Divider />
        <Switch
          label="Only signatures with a timestamp"
          description="Refuses requests that are signed over the body alone."
          checked={settings.require_timestamp}
          disabled={readOnly}
          onChange={(event) => save.mutate({ require_timestamp: event.currentTarget.checked })}
        />
        <Switch
          label="Requests may override settings"
          description="Such as voice, greeting or language, for their call alone."
          checked={settings.allow_overrides}
          disabled={readOnly}
          onChange={(event) => save.mutate({ allow_overrides: event.currentTarget.checked })}
        />
        {save.error && <ErrorMessage error={save.error} />}
      </Stack>
    </Card>
  );
}
