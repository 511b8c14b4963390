import { Button, Group, NumberInput, Progress, Select, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useOrg, useProjects } from '../../app/project.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, inWords } from '../../components/format.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Gauge } from '../../components/icons.ts';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';

type Limit = components['schemas']['RateLimitConfig'];
type Resource = Limit['resource'];

const RESOURCES: readonly Resource[] = [
  'api_requests',
  'session_starts',
  'concurrent_sessions',
  'tool_calls',
  'outbound_dials',
  'concurrent_outbound',
];
/** What is counted at one time has no window. */
const atOneTime = (resource: Resource) => resource.startsWith('concurrent_');

const LOOK_EVERY_MS = 10_000;

export default function RateLimitsPage() {
  const { orgId, can } = useOrg();
  const queries = useQueryClient();
  const projects = useProjects(orgId);
  const limits = usePages({
    queryKey: ['rate-limits', orgId],
    everyMs: LOOK_EVERY_MS,
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/rate-limit-configs', {
          params: { path: { org_id: orgId }, query: page },
        }),
      ),
  });
  const changed = () => queries.invalidateQueries({ queryKey: ['rate-limits', orgId] });
  const [opened, dialog] = useDisclosure(false);
  const [resource, setResource] = useState<Resource>('session_starts');
  const [projectId, setProjectId] = useState<string | null>(null);
  const [limit, setLimit] = useState<number | string>(60);
  const [seconds, setSeconds] = useState<number | string>(60);
  const close = () => {
    dialog.close();
    setProjectId(null);
    setLimit(60);
    setSeconds(60);
  };

  async function create() {
    await take(
      api.POST('/v1/orgs/{org_id}/rate-limit-configs', {
        params: { path: { org_id: orgId } },
        body: {
          resource,
          limit: Number(limit),
          project_id: projectId,
          ...(!atOneTime(resource) && { window_seconds: Number(seconds) }),
        },
      }),
    );
    await changed();
  }
  async function remove(id: string) {
    await take(api.DELETE('/v1/rate-limit-configs/{config_id}', { params: { path: { config_id: id } } }));
    await changed();
  }
  const nameOf = (id: string | null) =>
    id === null ? 'Whole organisation' : (projects.data?.items.find((one) => one.id === id)?.name ?? id);
  const columns: DataColumn<Limit>[] = [
    { id: 'what', title: 'Counted', cell: ({ resource }) => inWords(resource), width: 'minmax(170px, 1fr)' },
    {
      id: 'limit',
      title: 'At most',
      width: '170px',
      cell: ({ limit, window_seconds }) =>
        window_seconds === null
          ? `${formatCount(limit)} at a time`
          : `${formatCount(limit)} in ${window_seconds} s`,
    },
    { id: 'used', title: 'Used now', cell: (one) => <Used limit={one} />, width: '150px' },
    {
      id: 'where',
      title: 'Where',
      cell: ({ project_id }) => nameOf(project_id),
      width: 'minmax(170px, 1fr)',
    },
    { id: 'action', title: 'Beyond it', cell: ({ action }) => inWords(action), width: '110px' },
    {
      id: 'state',
      title: 'Status',
      cell: ({ enabled }) => <StatusBadge status={enabled ? 'active' : 'off'} />,
      width: '100px',
    },
    {
      id: 'actions',
      title: 'Actions',
      width: '110px',
      align: 'end',
      cell: ({ id }) =>
        can('administer') && (
          <ConfirmButton
            size="compact-xs"
            title="Remove the limit?"
            text="The installation's own limits stay."
            confirm="Remove"
            onConfirm={() => remove(id)}
          >
            Remove
          </ConfirmButton>
        ),
    },
  ];
  const add = can('administer') && <Button onClick={dialog.open}>New limit</Button>;
  return (
    <>
      <PageHeader
        title="Rate limits"
        text="Limits that the organisation sets itself, below those of the installation."
        actions={add}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/rate-limit-configs` }}
      />
      {limits.error ? (
        <ErrorMessage error={limits.error} onRetry={limits.retry} />
      ) : !limits.items ? (
        <Loading height="20vh" />
      ) : limits.items.length === 0 ? (
        <EmptyState
          icon={Gauge}
          title="No limit of your own"
          text="A limit keeps one project, or a mistake in a program, from using up what the others need."
          action={add}
        />
      ) : (
        <DataTable
          label="Rate limits"
          rows={limits.items}
          columns={columns}
          rowKey={({ id }) => id}
          hasMore={limits.hasMore}
          loadingMore={limits.loadingMore}
          onLoadMore={limits.loadMore}
        />
      )}
      <FormDialog title="New limit" opened={opened} onClose={close} submit="Create" onSubmit={create}>
        <Select
          label="What is counted"
          data={RESOURCES.map((value) => ({ value, label: inWords(value) }))}
          value={resource}
          allowDeselect={false}
          onChange={(value) => setResource(value as Resource)}
        />
        <NumberInput label="At most" min={1} value={limit} onChange={setLimit} allowDecimal={false} />
        {!atOneTime(resource) && (
          <NumberInput
            label="In seconds"
            min={1}
            value={seconds}
            onChange={setSeconds}
            allowDecimal={false}
          />
        )}
        <Select
          label="Project"
          placeholder="Whole organisation"
          clearable
          searchable
          limit={100}
          data={(projects.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
          value={projectId}
          onChange={setProjectId}
        />
      </FormDialog>
    </>
  );
}

/** How much of a limit is used now; nothing where that is not counted. */
function Used({ limit: { limit, used } }: { limit: Limit }) {
  if (used === null) return '–';
  const part = Math.min(1, used / limit);
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress
        value={100 * part}
        color={part >= 1 ? 'red' : part >= 0.8 ? 'yellow' : 'green'}
        flex={1}
        aria-hidden
      />
      <Text size="sm" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {formatCount(used)}
      </Text>
    </Group>
  );
}
