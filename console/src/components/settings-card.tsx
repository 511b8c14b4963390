import { Button, Card, Group, Stack } from '@mantine/core';
import type { FormEventHandler, ReactNode } from 'react';
import { ErrorMessage } from './error-message.tsx';

/** A form of settings that stand in a page: its fields, what went wrong, and the button for whoever may save. */
export function SettingsCard({
  save,
  disabled,
  onSubmit,
  children,
}: {
  save: { error: Error | null; isPending: boolean };
  disabled: boolean;
  onSubmit: FormEventHandler<HTMLFormElement>;
  children: ReactNode;
}) {
  return (
    <Card withBorder maw={640} padding="lg" bg="var(--parley-surface)">
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          {children}
          {save.error && <ErrorMessage error={save.error} />}
          {!disabled && (
            <Group justify="flex-end">
              <Button type="submit" loading={save.isPending}>
                Save
              </Button>
            </Group>
          )}
        </Stack>
      </form>
    </Card>
  );
}
