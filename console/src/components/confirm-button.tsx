import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { ErrorMessage } from './error-message.tsx';

/** A button for what cannot be undone: says what will happen, and does it once that is confirmed. */
export function ConfirmButton({
  children,
  title,
  text,
  confirm,
  onConfirm,
  ...button
}: {
  children: ReactNode;
  title: string;
  text: ReactNode;
  /** The button that does it: a verb. */
  confirm: string;
  /** The dialog stays open with what it throws. */
  onConfirm: () => Promise<unknown>;
} & Omit<ButtonProps, 'children'>) {
  const [opened, dialog] = useDisclosure(false);
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  async function run() {
    setState({ busy: true });
    try {
      await onConfirm();
      dialog.close();
      setState({ busy: false });
    } catch (error) {
      setState({ busy: false, error });
    }
  }
  return (
    <>
      <Button variant="default" {...button} onClick={dialog.open}>
        {children}
      </Button>
      <Modal opened={opened} onClose={dialog.close} title={title}>
        <Stack>
          <Text size="sm">{text}</Text>
          {state.error !== undefined && <ErrorMessage error={state.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={dialog.close} data-autofocus>
              Cancel
            </Button>
            <Button color="red" loading={state.busy} onClick={() => void run()}>
              {confirm}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
