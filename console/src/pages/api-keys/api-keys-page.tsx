import { Button, Code, CopyButton, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { confirmColumn, statusColumn, timeColumn } from '../../components/columns.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { Modal } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { KeyRound } from '../../components/icons.ts';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';

type ApiKey = components['schemas']['ApiKey'];

const ROLES = [
  { value: 'viewer', label: 'Viewer: reads' },
  { value: 'editor', label: 'Editor: places calls and changes records' },
  { value: 'admin', label: 'Admin: administers the project' },
] as const;
type KeyRole = (typeof ROLES)[number]['value'];

export default function ApiKeysPage() {
  const { projectId, can } = useProject();
  const queries = useQueryClient();
  const path = { project_id: projectId };
  const keys = usePages({
    queryKey: ['api-keys', projectId],
    read: (page) => take(api.GET('/v1/projects/{project_id}/api-keys', { params: { path, query: page } })),
  });
  const changed = () => queries.invalidateQueries({ queryKey: ['api-keys', projectId] });
  const [opened, dialog] = useDisclosure(false);
  const [name, setName] = useState('');
  const close = () => {
    dialog.close();
    setName('');
  };
  const [role, setRole] = useState<KeyRole>('editor');
  const [secret, setSecret] = useState<string | null>(null);

  async function create() {
    const { key } = await take(
      api.POST('/v1/projects/{project_id}/api-keys', { params: { path }, body: { name: name.trim(), role } }),
    );
    setSecret(key);
    await changed();
  }
  async function revoke(id: string) {
    await take(
      api.DELETE('/v1/projects/{project_id}/api-keys/{key_id}', {
        params: { path: { ...path, key_id: id } },
      }),
    );
    await changed();
  }

  const columns: DataColumn<ApiKey>[] = [
    { id: 'name', title: 'Name', cell: ({ name }) => name, width: 'minmax(160px, 2fr)' },
    {
      id: 'key',
      title: 'Key',
      cell: ({ key_start, last_four }) => <Code>{`${key_start}…${last_four}`}</Code>,
      width: 'minmax(190px, 1fr)',
    },
    { id: 'role', title: 'Role', cell: ({ role }) => role, width: '90px' },
    statusColumn(),
    timeColumn('Last used', ({ last_used_at }) => last_used_at, 'never'),
    timeColumn('Created', ({ created_at }) => created_at),
    ...(can('administer')
      ? [
          confirmColumn<ApiKey>({
            verb: 'Revoke',
            offered: ({ status }) => status === 'active',
            title: ({ name }) => `Revoke ${name}?`,
            text: () =>
              'Programs that use this key are refused from the next request on. Keys that it made end with it. This cannot be undone.',
            onConfirm: ({ id }) => revoke(id),
          }),
        ]
      : []),
  ];
  const createButton = can('administer') && <Button onClick={dialog.open}>New key</Button>;
  return (
    <>
      <PageHeader
        title="API keys"
        text="What programs sign in with. A key belongs to this project and is shown once, when it is made."
        actions={
          <>
            <CopyCurl request={{ method: 'GET', path: `/v1/projects/${projectId}/api-keys` }} />
            {createButton}
          </>
        }
      />
      {keys.error ? (
        <ErrorMessage error={keys.error} onRetry={keys.retry} />
      ) : !keys.items ? (
        <Loading height="20vh" />
      ) : keys.items.length === 0 ? (
        <EmptyState
          icon={KeyRound}
          title="No key yet"
          text="A key lets a program place calls, read transcripts and change agents of this project."
          action={createButton}
        />
      ) : (
        <DataTable
          label="API keys"
          rows={keys.items}
          columns={columns}
          rowKey={({ id }) => id}
          hasMore={keys.hasMore}
          loadingMore={keys.loadingMore}
          onLoadMore={keys.loadMore}
        />
      )}
      <FormDialog title="New API key" opened={opened} onClose={close} submit="Create" onSubmit={create}>
        <TextInput
          label="Name"
          description="What uses it"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Select
          label="Role"
          data={ROLES}
          value={role}
          allowDeselect={false}
          onChange={(value) => setRole(value as KeyRole)}
        />
      </FormDialog>
      <Modal opened={secret !== null} onClose={() => setSecret(null)} title="Copy the key now">
        <Stack>
          <Text size="sm">It is not shown again. Keep it where your program reads its secrets.</Text>
          <Code block tabIndex={0} style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
            {secret}
          </Code>
          <CopyButton value={secret ?? ''}>
            {({ copied, copy }) => <Button onClick={copy}>{copied ? 'Copied' : 'Copy'}</Button>}
          </CopyButton>
        </Stack>
      </Modal>
    </>
  );
}
