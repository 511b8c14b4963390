import { Button, Code, CopyButton, Group, Popover, ScrollArea, Stack, Text } from '@mantine/core';
import { useSyncExternalStore } from 'react';
import { curlOf } from '../api/curl.ts';
import type { ApiRequest } from '../api/curl.ts';
import { doneRequests } from '../api/done-requests.ts';
import { apiUrl } from '../api/page-settings.ts';
import { Check, Copy, Terminal } from './icons.ts';

/** The `curl` that does what was just done in the pages, and what reads what this one shows. */
export function CopyCurl({ request }: { request: ApiRequest }) {
  const done = useSyncExternalStore(doneRequests.subscribe, () => doneRequests.list);
  return (
    <Popover width={460} position="bottom-end" shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default" size="compact-sm" leftSection={<Terminal size={14} />}>
          curl
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <ScrollArea.Autosize mah="min(70vh, 560px)" offsetScrollbars="present">
          <Stack gap="md">
            {done.length > 0 && (
              <Stack gap="xs" component="section" aria-label="What was just done">
                <Text size="sm" fw={600}>
                  What was just done, the newest first
                </Text>
                {done.map((one) => (
                  <Command key={one.number} request={one} />
                ))}
              </Stack>
            )}
            <Stack gap="xs" component="section" aria-label="What this page reads">
              <Text size="sm" fw={600}>
                What this page reads
              </Text>
              <Command request={request} />
            </Stack>
          </Stack>
        </ScrollArea.Autosize>
      </Popover.Dropdown>
    </Popover>
  );
}

function Command({ request }: { request: ApiRequest }) {
  const command = curlOf(request, apiUrl);
  return (
    <div>
      <Code
        block
        mah={220}
        style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', overflowY: 'auto' }}
        tabIndex={0}
      >
        {command}
      </Code>
      <Group justify="flex-end" mt={4}>
        <CopyButton value={command}>
          {({ copied, copy }) => (
            <Button
              size="compact-sm"
              variant="default"
              leftSection={copied ? <Check size={14} /> : <Copy size={14} />}
              onClick={copy}
            >
              {copied ? 'Copied' : 'Copy'}
            </Button>
          )}
        </CopyButton>
      </Group>
    </div>
  );
}
