import { Button, Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMemo, useRef, useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import { Modal } from '../../components/dialog.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import type { LogEvent } from './session-log.ts';
import { mocksOf } from './tool-mocks.ts';

/** Makes a test of a conversation: its caller says the same again, to whatever the agent has become. */
export function MakeTest({
  opened,
  onClose,
  sessionId,
  agentId,
  events,
  name: proposed,
}: {
  opened: boolean;
  onClose: () => void;
  sessionId: string;
  agentId: string;
  events: readonly LogEvent[];
  name: string;
}) {
  const mocks = useMemo(() => mocksOf(events), [events]);
  const [name, setName] = useState<string | null>(null);
  const [mocked, setMocked] = useState(true);
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  /** The test that was made before what belongs into it failed: the next try goes on with it. */
  const begun = useRef<string>(undefined);
  const title = name ?? proposed;
  const close = () => {
    // What went wrong, and what was typed, is not of the next try.
    setState({ busy: false });
    setName(null);
    onClose();
  };
  async function make() {
    setState({ busy: true });
    try {
      const content = { name: title.trim() };
      const isNew = begun.current === undefined;
      begun.current ??= (
        await take(
          api.POST('/v1/agents/{agent_id}/tests', {
            params: { path: { agent_id: agentId } },
            body: { ...content, from_session_id: sessionId },
          }),
        )
      ).id;
      const tool_mocks = mocked ? mocks : [];
      if (!isNew || tool_mocks.length > 0)
        await take(
          api.PATCH('/v1/tests/{test_id}', {
            params: { path: { test_id: begun.current } },
            body: { ...content, tool_mocks },
          }),
        );
      begun.current = undefined;
      close();
      notifications.show({
        color: 'green',
        title: 'The test is made',
        message: 'It stands among the tests of the agent, and runs with them.',
      });
    } catch (error) {
      // Somebody has deleted it meanwhile: the next try makes another one.
      if (error instanceof ApiError && error.status === 404) begun.current = undefined;
      setState({ busy: false, error });
    }
  }
  return (
    <Modal opened={opened} onClose={close} title="Make a test of this call">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <Stack>
          <Text size="sm" c="dimmed">
            What the caller said becomes the script of a test, with the call’s variables and the nodes of the
            flow that it reached. Checks can be added to it later.
          </Text>
          <TextInput
            label="Name"
            value={title}
            onChange={(event) => setName(event.currentTarget.value)}
            maxLength={120}
            required
            data-autofocus
          />
          {mocks.length > 0 && (
            <Checkbox
              label={`Tools answer as they did in this call (${mocks.length})`}
              checked={mocked}
              onChange={(event) => setMocked(event.currentTarget.checked)}
            />
          )}
          {state.error !== undefined && <ErrorMessage error={state.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={state.busy} disabled={title.trim() === ''}>
              Make the test
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
