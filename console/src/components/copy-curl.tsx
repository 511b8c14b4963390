import { Button, Code, CopyButton, Group, Popover, Stack, Text } from '@mantine/core';
import { apiUrl } from '../api/page-settings.ts';
import { curlOf } from './curl.ts';
import type { ApiRequest } from './curl.ts';
import { Check, Copy, Terminal } from './icons.ts';

/** The `curl` that does what the page just did. */
export function CopyCurl({ request }: { request: ApiRequest }) {
  const command = curlOf(request, apiUrl);
  return (
    <Popover width={460} position="bottom-end" shadow="md" trapFocus withinPortal>
      <Popover.Target>
        <Button variant="default" size="compact-sm" leftSection={<Terminal size={14} />}>
          curl
        </Button>
      </Popover.Target>
      <Popover.Dropdown maw="calc(100vw - 24px)">
        <Stack gap="xs">
          <Group justify="space-between">
            <Text size="sm" fw={600}>
              The same by the API
            </Text>
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
          <Code block style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} tabIndex={0}>
            {command}
          </Code>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
