import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { useState, useSyncExternalStore } from 'react';
import { ApiError } from '../api/client.ts';
import { outdated } from '../app/query-client.ts';
import { CircleAlert, RefreshCw } from './icons.ts';
import { Time } from './time.tsx';

/** Above what is shown while it cannot be read again: since when it is not up to date, and why. */
export function OutdatedNotice() {
  const state = useSyncExternalStore(outdated.subscribe, () => outdated.state);
  const [busy, setBusy] = useState(false);
  const requestId = state?.error instanceof ApiError ? state.error.requestId : null;
  return (
    <div role="status">
      {state && (
        <Alert color="yellow" variant="light" mb="md" icon={<CircleAlert size={18} />} p="xs">
          <Group gap="xs">
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              Not up to date since <Time value={new Date(state.since).toISOString()} form="time" />:{' '}
              {state.error instanceof Error ? state.error.message : String(state.error)}
            </Text>
            {requestId !== null && (
              <Text size="xs">
                Request <Code>{requestId}</Code>
              </Text>
            )}
            <Button
              size="compact-sm"
              variant="default"
              leftSection={<RefreshCw size={14} />}
              loading={busy}
              onClick={() => {
                setBusy(true);
                void outdated.retry().finally(() => setBusy(false));
              }}
            >
              Try again
            </Button>
          </Group>
        </Alert>
      )}
    </div>
  );
}
