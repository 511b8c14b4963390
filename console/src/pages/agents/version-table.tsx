import { Badge, Group, Radio, ScrollArea, Table, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { failureText } from '../../components/tell-failure.ts';
import { Time } from '../../components/time.tsx';
import type { Traffic } from './use-agent-editor.ts';

export type Version = components['schemas']['AgentVersionSummary'];

/** Each row can be written in: very many at once would be slow. */
const SHOWN_AT_ONCE = 100;

/** Every version, with its note and its share of calls; two are picked to compare. */
export function VersionTable({
  agentId,
  versions,
  traffic,
  before,
  after,
  onPick,
}: {
  agentId: string;
  versions: readonly Version[];
  traffic: Traffic;
  before: number | undefined;
  after: number | undefined;
  onPick: (change: { before?: number; after?: number }) => void;
}) {
  const { can } = useProject();
  const queries = useQueryClient();
  const newest = versions[0]?.version;
  const [shown, setShown] = useState(SHOWN_AT_ONCE);
  const share = (version: number) =>
    traffic.mode === 'latest'
      ? version === newest
        ? 100
        : 0
      : (traffic.splits.find((split) => split.version === version)?.weight ?? 0);
  const restore = (version: number) =>
    take(
      api.POST('/v1/agents/{agent_id}/versions/{version}/restore', {
        params: { path: { agent_id: agentId, version: String(version) } },
      }),
    ).then((agent) => {
      queries.setQueryData(['agent', agentId], agent);
      notifications.show({
        color: 'green',
        message: `Version ${version} is back, as version ${agent.version}.`,
      });
      return queries.invalidateQueries({ queryKey: ['agent', agentId, 'versions'] });
    });
  return (
    <ScrollArea.Autosize mah={420}>
      <Table miw={560} stickyHeader>
        <Table.Thead style={{ background: 'var(--parley-surface)' }}>
          <Table.Tr>
            <Table.Th w={130}>Compare</Table.Th>
            <Table.Th w={140}>Version</Table.Th>
            <Table.Th>Note</Table.Th>
            <Table.Th w={150}>Saved</Table.Th>
            <Table.Th w={110} />
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {versions.slice(0, shown).map(({ version, label, restored_from, created_at }) => (
            <Table.Tr key={version}>
              <Table.Td>
                <Group gap="xs" wrap="nowrap">
                  <Radio
                    size="xs"
                    name="before"
                    checked={version === before}
                    aria-label={`Compare from version ${version}`}
                    onChange={() => onPick({ before: version })}
                  />
                  <Radio
                    size="xs"
                    name="after"
                    checked={version === after}
                    aria-label={`Compare to version ${version}`}
                    onChange={() => onPick({ after: version })}
                  />
                </Group>
              </Table.Td>
              <Table.Td>
                <Group gap={6} wrap="nowrap">
                  <Text fw={600} size="sm">
                    v{version}
                  </Text>
                  {share(version) > 0 && (
                    <Badge size="sm" variant="dot" color="green" tt="none" style={{ flexShrink: 0 }}>
                      {share(version)} %
                    </Badge>
                  )}
                </Group>
              </Table.Td>
              <Table.Td>
                <Label
                  key={label}
                  agentId={agentId}
                  version={version}
                  label={label}
                  hint={restored_from === null ? '' : `Restored from v${restored_from}`}
                />
              </Table.Td>
              <Table.Td>
                <Text size="sm" c="dimmed">
                  <Time value={created_at} />
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                {can('edit') && version !== newest && (
                  <ConfirmButton
                    size="compact-sm"
                    title={`Restore version ${version}`}
                    text={`Its content becomes the newest version. ${traffic.mode === 'latest' ? 'Callers get it at once.' : 'Callers get it once it is published.'}`}
                    confirm="Restore"
                    onConfirm={() => restore(version)}
                  >
                    Restore
                  </ConfirmButton>
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <LoadMore
        shown={Math.min(shown, versions.length)}
        total={versions.length}
        hasMore={shown < versions.length}
        loadingMore={false}
        loadMore={() => setShown(shown + SHOWN_AT_ONCE)}
      />
    </ScrollArea.Autosize>
  );
}

function Label({
  agentId,
  version,
  label,
  hint,
}: {
  agentId: string;
  version: number;
  label: string | null;
  hint: string;
}) {
  const { can } = useProject();
  const queries = useQueryClient();
  const [text, setText] = useState(label ?? '');
  const save = useMutation({
    mutationFn: () =>
      take(
        api.PATCH('/v1/agents/{agent_id}/versions/{version}', {
          params: { path: { agent_id: agentId, version: String(version) } },
          body: { label: text.trim() === '' ? null : text.trim() },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agent', agentId, 'versions'] }),
  });
  const isChanged = text.trim() !== (label ?? '');
  return (
    <TextInput
      variant="unstyled"
      size="sm"
      value={text}
      maxLength={120}
      readOnly={!can('edit')}
      placeholder={hint || (can('edit') ? 'Add a note' : '')}
      aria-label={`Note of version ${version}`}
      error={save.error && failureText(save.error)}
      onChange={(event) => setText(event.currentTarget.value)}
      onBlur={() => isChanged && save.mutate()}
      onKeyDown={(event) => event.key === 'Enter' && event.currentTarget.blur()}
    />
  );
}
