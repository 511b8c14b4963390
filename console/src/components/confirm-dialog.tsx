import { Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { Modal } from './dialog.tsx';
import { ErrorMessage } from './error-message.tsx';

/** What is asked before something is done that cannot be undone. */
export interface Confirmation {
  title: string;
  text: ReactNode;
  /** The button that does it: a verb. */
  confirm: string;
  /** The dialog stays open with what it throws. */
  onConfirm: () => Promise<unknown>;
}

/** Says what will happen, and does it once that is confirmed. */
export function ConfirmDialog({
  opened,
  onClose,
  title,
  text,
  confirm,
  onConfirm,
}: Confirmation & { opened: boolean; onClose: () => void }) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const close = () => {
    // What went wrong is not said of the next try.
    setState({ busy: false });
    onClose();
  };
  async function run() {
    setState({ busy: true });
    try {
      await onConfirm();
      close();
    } catch (error) {
      setState({ busy: false, error });
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <Stack>
        <Text size="sm">{text}</Text>
        {state.error !== undefined && <ErrorMessage error={state.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Cancel
          </Button>
          <Button color="red.9" loading={state.busy} onClick={() => void run()}>
            {confirm}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
