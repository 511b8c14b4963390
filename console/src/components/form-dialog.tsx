import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import type { FormEvent, ReactNode } from 'react';
import { Modal } from './dialog.tsx';
import { ErrorMessage } from './error-message.tsx';

/** A form in a dialog, which stays open with what the server said against it. */
export function FormDialog({
  title,
  opened,
  onClose,
  submit,
  onSubmit,
  children,
}: {
  title: string;
  opened: boolean;
  onClose: () => void;
  /** What the button does: a verb. */
  submit: string;
  /** @returns false where the form itself says what is missing */
  onSubmit: () => Promise<unknown>;
  children: ReactNode;
}) {
  const [state, setState] = useState<{ busy: boolean; error?: unknown }>({ busy: false });
  const close = () => {
    // What went wrong is not said of the next try.
    setState({ busy: false });
    onClose();
  };
  async function send(event: FormEvent) {
    event.preventDefault();
    setState({ busy: true });
    try {
      const done = await onSubmit();
      setState({ busy: false });
      if (done !== false) onClose();
    } catch (error) {
      setState({ busy: false, error });
    }
  }
  return (
    <Modal opened={opened} onClose={close} title={title}>
      <form onSubmit={(event) => void send(event)} noValidate>
        <Stack>
          {children}
          {state.error !== undefined && <ErrorMessage error={state.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={state.busy}>
              {submit}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
