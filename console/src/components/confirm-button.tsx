import { Button } from '@mantine/core';
import type { ButtonProps } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { ConfirmDialog } from './confirm-dialog.tsx';
import type { Confirmation } from './confirm-dialog.tsx';

/** A button for what cannot be undone: says what will happen, and does it once that is confirmed. */
export function ConfirmButton({
  children,
  title,
  text,
  confirm,
  onConfirm,
  ...button
}: { children: ReactNode } & Confirmation & Omit<ButtonProps, 'children'>) {
  const [opened, dialog] = useDisclosure(false);
  return (
    <>
      <Button variant="default" {...button} onClick={dialog.open}>
        {children}
      </Button>
      <ConfirmDialog
        opened={opened}
        onClose={dialog.close}
        title={title}
        text={text}
        confirm={confirm}
        onConfirm={onConfirm}
      />
    </>
  );
}
