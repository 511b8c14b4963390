import { Group, Stack, Text, Title } from '@mantine/core';
import { useDocumentTitle } from '@mantine/hooks';
import type { ReactNode } from 'react';
import { CopyCurl } from './copy-curl.tsx';
import type { ApiRequest } from '../api/curl.ts';

/** A page's name, also of the browser's tab, with its main actions. */
export function PageHeader({
  title,
  text,
  actions,
  above,
  request,
}: {
  title: string;
  text?: ReactNode;
  actions?: ReactNode;
  /** A way back, or a row of badges. */
  above?: ReactNode;
  /** What the page reads: behind its actions is the `curl` that does the same. */
  request?: ApiRequest;
}) {
  useDocumentTitle(`${title} · Parley`);
  return (
    <Group justify="space-between" align="flex-start" mb="lg" gap="md">
      <Stack gap={4} style={{ minWidth: 0, maxWidth: '100%' }}>
        {above}
        <Title order={1} size="h2" style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Title>
        {text !== undefined && (
          <Text c="dimmed" size="sm" maw={680}>
            {text}
          </Text>
        )}
      </Stack>
      {(actions !== undefined || request) && (
        <Group gap="xs">
          {actions}
          {request && <CopyCurl request={request} />}
        </Group>
      )}
    </Group>
  );
}
