import { Alert, Button, Code, Group, List, Stack, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { ApiError } from '../api/client.ts';
import { inWords } from './format.ts';
import { CircleAlert, RefreshCw } from './icons.ts';

/** What went wrong, in the server's words, with the id that finds the request in its log. */
export function ErrorMessage({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const api = error instanceof ApiError ? error : undefined;
  const alert = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // A form in a drawer may be longer than what is seen of it.
    if (alert.current?.closest('[role=dialog]')) alert.current.scrollIntoView({ block: 'nearest' });
  }, [error]);
  const title =
    api?.code === 'feature_disabled'
      ? 'This feature is switched off'
      : api?.status === 403
        ? 'Your role does not allow this'
        : 'This did not work';
  return (
    <Alert
      ref={alert}
      color="red"
      variant="light"
      icon={<CircleAlert size={18} />}
      title={title}
      role="alert"
    >
      <Stack gap="xs" align="flex-start">
        <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
          {error instanceof Error ? error.message : String(error)}
        </Text>
        {api && api.refs.length > 0 && (
          <List size="sm">
            {api.refs.map(({ type, id, name }) => (
              <List.Item key={id}>
                {inWords(type)} <bdi>{name === '' ? id : name}</bdi>
              </List.Item>
            ))}
          </List>
        )}
        {api?.requestId && (
          <Group gap={6}>
            <Text size="xs" c="dimmed">
              Request
            </Text>
            <Code>{api.requestId}</Code>
          </Group>
        )}
        {onRetry && api?.status !== 403 && (
          <Button size="compact-sm" variant="default" leftSection={<RefreshCw size={14} />} onClick={onRetry}>
            Try again
          </Button>
        )}
      </Stack>
    </Alert>
  );
}
