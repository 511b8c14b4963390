import { Center, Paper, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Brand } from '../../app/brand.tsx';

/** The frame of pages before the sign-in. */
export function OutsideFrame({ children }: { children: ReactNode }) {
  return (
    <Center component="main" mih="100vh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Center>
          <Brand />
        </Center>
        <Paper withBorder p={{ base: 'md', xs: 'xl' }} radius="lg" bg="var(--parley-surface)">
          {children}
        </Paper>
      </Stack>
    </Center>
  );
}
