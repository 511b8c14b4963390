import { Alert, Button, Code, CopyButton, Group, NumberInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { Copy, RotateCcw } from '../../components/build-icons.ts';
import { Modal } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';

/** A value to copy, not to change. */
export function CopyField({ label, value }: { label: string; value: string }) {
  return (
    <TextInput
      label={label}
      value={value}
      readOnly
      styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 13 } }}
      rightSectionWidth={84}
      rightSection={
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <Button size="compact-sm" variant="default" onClick={copy} leftSection={<Copy size={12} />}>
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
      }
    />
  );
}

/** The secret that signs a webhook's requests: its last four characters, and a new one. */
export function SecretRow({
  agentId,
  webhook,
  secret,
}: {
  agentId: string;
  webhook: 'start_call' | 'call_ended';
  secret: { set: boolean; last_four: string };
}) {
  const { can } = useProject();
  const queries = useQueryClient();
  const [asking, setAsking] = useState(false);
  // It stays what it was while the new secret is shown.
  const [isFirst, setFirst] = useState(false);
  const [grace, setGrace] = useState<number | string>(3600);
  const rotate = useMutation({
    mutationFn: () =>
      take(
        api.POST('/api/v1/webhooks/agents/{agent_id}/rotate-secret', {
          params: { path: { agent_id: agentId } },
          body: { webhook, grace_seconds: Number(grace) },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agent', agentId, 'webhooks'] }),
  });
  const open = () => {
    setFirst(!secret.set);
    setAsking(true);
  };
  const close = () => {
    setAsking(false);
    rotate.reset();
  };
  return (
    <Group justify="space-between">
      <div>
        <Text size="sm" fw={500}>
          Secret
        </Text>
        <Text size="sm" c="dimmed">
          {secret.set ? (
            <Code>•••• {secret.last_four}</Code>
          ) : (
            'None yet. Switching the webhook on makes one.'
          )}
        </Text>
      </div>
      {can('administer') && (
        <Button variant="default" leftSection={<RotateCcw size={14} />} onClick={open}>
          {secret.set ? 'Rotate' : 'Make a secret'}
        </Button>
      )}
      <Modal opened={asking} onClose={close} title={isFirst ? 'Make a secret' : 'Rotate the secret'}>
        <Stack>
          {rotate.data?.secret ? (
            <>
              <Alert color="yellow" variant="light" title="Shown once">
                Copy it now: it cannot be read again.
              </Alert>
              <CopyField label="Secret" value={rotate.data.secret} />
              {rotate.data.standard_webhooks_secret && (
                <CopyField
                  label="For libraries of Standard Webhooks"
                  value={rotate.data.standard_webhooks_secret}
                />
              )}
              <Group justify="flex-end">
                <Button onClick={close}>Done</Button>
              </Group>
            </>
          ) : (
            <>
              {!isFirst && (
                <NumberInput
                  label="Keep the old one valid for"
                  description="While both sides change over; 0: not at all."
                  suffix=" s"
                  min={0}
                  max={86_400}
                  value={grace}
                  onChange={setGrace}
                />
              )}
              {rotate.error && <ErrorMessage error={rotate.error} />}
              <Group justify="flex-end">
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button loading={rotate.isPending} onClick={() => rotate.mutate()}>
                  {isFirst ? 'Make it' : 'Rotate'}
                </Button>
              </Group>
            </>
          )}
        </Stack>
      </Modal>
    </Group>
  );
}
