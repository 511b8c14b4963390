import { Alert, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** Says that a newer version was saved since one's own changes began, what that means for them, and what can be done. */
export function SavedMeanwhile({
  version,
  began,
  text,
  children,
}: {
  version: number;
  /** The version that was open when the first change was made. */
  began: number;
  text: string;
  children?: ReactNode;
}) {
  return (
    <Alert color="yellow" variant="light" role="status" title={`Version ${version} was saved meanwhile`}>
      <Stack gap="xs">
        <Text size="sm">
          Your changes began at version {began}. {text}
        </Text>
        {children && <Group gap="xs">{children}</Group>}
      </Stack>
    </Alert>
  );
}
