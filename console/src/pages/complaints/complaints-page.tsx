import { Button, Drawer, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Search, ShieldCheck } from '../../components/build-icons.ts';
import { statusColumn, timeColumn } from '../../components/columns.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, inWords } from '../../components/format.ts';
import { RefreshCw } from '../../components/icons.ts';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { ComplaintDetails } from './complaint-details.tsx';
import { STATUSES, timeLeft } from './complaint-words.ts';
import type { Complaint } from './complaint-words.ts';

const WHAT =
  'People who were called and say that they never agreed to it. The carrier wants a proof of consent before the deadline; their numbers are on the do-not-call list already.';
const EVERY_MS = 60_000;
const SORTS = [
  { value: '-created_at', label: 'Newest first' },
  { value: 'deadline_at', label: 'Earliest deadline first' },
] as const;
type Sort = (typeof SORTS)[number]['value'];

const COLUMNS: DataColumn<Complaint>[] = [
  statusColumn(),
  {
    id: 'left',
    title: 'Time for a proof',
    width: '170px',
    cell: (complaint) => timeLeft(complaint) ?? '–',
  },
  timeColumn('Deadline', ({ deadline_at }) => deadline_at),
  { id: 'to', title: 'Who complains', width: '150px', cell: ({ to_number }) => to_number ?? '–' },
  { id: 'from', title: 'Called from', width: '150px', cell: ({ from_number }) => from_number ?? '–' },
  {
    id: 'category',
    title: 'About',
    width: 'minmax(190px, 1fr)',
    cell: ({ complaint_category }) => (complaint_category === undefined ? '–' : inWords(complaint_category)),
  },
  {
    id: 'reference',
    title: 'Reference',
    width: 'minmax(180px, 1fr)',
    cell: ({ reference_id }) => reference_id,
  },
];

/** Complaints about unsolicited calls: until when a proof of consent is due, and what became of it. */
export default function ComplaintsPage() {
  const { orgId, can } = useProject();
  const queries = useQueryClient();
  const [status, setStatus] = useState<Complaint['status'] | null>(null);
  const [sort, setSort] = useState<Sort>('-created_at');
  const [typed, setTyped] = useState('');
  const [open, setOpen] = useState<string | null>(null);
  const number = typed.replace(/[\s().-]/g, '');
  // The list is asked for whole numbers only.
  const wanted = /^\+[1-9]\d{6,14}$/.test(number) ? number : '';
  const list = usePages({
    queryKey: ['complaints', orgId, status, sort, wanted],
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/ucc-complaints', {
          params: {
            path: { org_id: orgId },
            query: {
              ...{ ...page, sort },
              ...(status !== null && { status: [status] }),
              ...(wanted !== '' && { to_number: [wanted] }),
            },
          },
        }),
      ),
    everyMs: EVERY_MS,
  });
  const pull = useMutation({
    mutationFn: () =>
      take(api.POST('/v1/orgs/{org_id}/plivo/ucc/sync', { params: { path: { org_id: orgId } } })),
    async onSuccess({ total }) {
      await queries.invalidateQueries({ queryKey: ['complaints', orgId] });
      notifications.show({
        message: `Plivo was asked: ${formatCount(total)} ${total === 1 ? 'complaint' : 'complaints'} in all.`,
      });
    },
  });
  const { items } = list;
  const shown = items?.find(({ id }) => id === open);
  const ask = can('edit') && (
    <Button
      variant="default"
      leftSection={<RefreshCw size={15} />}
      loading={pull.isPending}
      onClick={() => pull.mutate()}
    >
      Ask Plivo now
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Complaints"
        text={WHAT}
        actions={ask}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/ucc-complaints` }}
      />
      <Stack gap="sm">
        {pull.error && <ErrorMessage error={pull.error} />}
        <Group gap="sm" align="flex-start">
          <TextInput
            w={{ base: '100%', xs: 240 }}
            leftSection={<Search size={16} />}
            placeholder="+919876543210"
            aria-label="Find who complains, by the number with its country code"
            value={typed}
            {...(number !== '' &&
              wanted === '' && { error: 'Write the whole number, with its country code.' })}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
          <Select
            w={{ base: '100%', xs: 200 }}
            placeholder="Any status"
            aria-label="Status"
            clearable
            data={STATUSES as never}
            value={status}
            onChange={(value) => setStatus(value as Complaint['status'] | null)}
          />
          <Select
            w={{ base: '100%', xs: 220 }}
            aria-label="Order"
            allowDeselect={false}
            data={SORTS as never}
            value={sort}
            onChange={(value) => setSort(value as Sort)}
          />
        </Group>
        {list.error ? (
          <ErrorMessage error={list.error} onRetry={list.retry} />
        ) : !items ? (
          <Loading height="30vh" />
        ) : items.length === 0 ? (
          status !== null || wanted !== '' ? (
            <EmptyState icon={Search} title="No complaint fits" text="No complaint fits all the filters." />
          ) : (
            <EmptyState
              icon={ShieldCheck}
              title="No complaints"
              text="Nobody has complained. Unless the server is set otherwise, Plivo is asked every hour; Twilio and Telnyx pass no complaints on."
            />
          )
        ) : (
          <>
            <Text size="sm" c="dimmed" role="status">
              {list.isCapped ? 'More than ' : ''}
              {formatCount(list.total)} {list.total === 1 ? 'complaint' : 'complaints'}
            </Text>
            <DataTable
              label="Complaints"
              rows={items}
              columns={COLUMNS}
              rowKey={({ id }) => id}
              onOpen={({ id }) => setOpen(id)}
              hasMore={list.hasMore}
              loadingMore={list.loadingMore}
              onLoadMore={list.loadMore}
              height="max(360px, calc(100vh - 320px))"
            />
          </>
        )}
      </Stack>
      <Drawer
        opened={shown !== undefined}
        onClose={() => setOpen(null)}
        position="right"
        size="lg"
        title={`Complaint of ${shown?.to_number ?? shown?.reference_id}`}
      >
        {shown && <ComplaintDetails key={shown.id} complaint={shown} mayEdit={can('edit')} />}
      </Drawer>
    </>
  );
}
