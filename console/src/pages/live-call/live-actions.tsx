import { Button, Group, Paper, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { PhoneOff, Send } from '../../components/icons.ts';

import { TakeOver } from './take-over.tsx';

/** The name of the event that what is said from here comes with. */
const SAY_EVENT = 'operator_message';

/** What a person may do to a call that runs: have something said, send an event, take it over, end it. */
export function LiveActions({ sessionId }: { sessionId: string }) {
  const { can } = useProject();
  const [say, setSay] = useState('');
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  if (!can('edit')) return null;

  const params = { path: { session_id: sessionId } };
  async function send(body: { name: string; say?: string }, sent: () => void) {
    setBusy(true);
    setError(undefined);
    try {
      await take(api.POST('/v1/sessions/{session_id}/events', { params, body }));
      sent();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Paper withBorder p="md">
      <Stack gap="sm">
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (say.trim() !== '') void send({ name: SAY_EVENT, say: say.trim() }, () => setSay(''));
          }}
        >
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label="Have the agent say"
              placeholder="Your order has just been shipped."
              maxLength={2000}
              value={say}
              onChange={({ currentTarget }) => setSay(currentTarget.value)}
              style={{ flex: 1, minWidth: 0 }}
            />
            <Button
              type="submit"
              loading={busy}
              disabled={say.trim() === ''}
              leftSection={<Send size={14} />}
            >
              Say
            </Button>
          </Group>
        </form>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() !== '') void send({ name: name.trim() }, () => setName(''));
          }}
        >
          <Group gap="xs" align="flex-end" wrap="nowrap">
            <TextInput
              label="Send an event"
              placeholder="payment_confirmed"
              maxLength={64}
              value={name}
              onChange={({ currentTarget }) => setName(currentTarget.value)}
              style={{ flex: 1, minWidth: 0 }}
            />
            <Button type="submit" variant="default" loading={busy} disabled={name.trim() === ''}>
              Send
            </Button>
          </Group>
        </form>
        {error !== undefined && <ErrorMessage error={error} />}
        <Group gap="xs">
          <TakeOver sessionId={sessionId} />
          <ConfirmButton
            color="red"
            variant="default"
            leftSection={<PhoneOff size={14} />}
            title="End this call?"
            text="The caller is hung up on. This cannot be undone."
            confirm="End the call"
            onConfirm={() => take(api.POST('/v1/sessions/{session_id}/end', { params }))}
          >
            End the call
          </ConfirmButton>
        </Group>
      </Stack>
    </Paper>
  );
}
