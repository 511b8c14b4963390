import { Button, Group, Select, Stack } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Search, ShieldCheck } from '../../components/build-icons.ts';
import { statusColumn, timeColumn } from '../../components/columns.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { Drawer } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, inWords } from '../../components/format.ts';
import { RefreshCw } from '../../components/icons.ts';
import { ListCount } from '../../components/list-count.tsx';
import { Loading } from '../../components/loading.tsx';
import { NumberSearch, useNumberSearch } from '../../components/number-search.tsx';
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
  const who = useNumberSearch();
  const { wanted } = who;
  // The address names the complaint that is open.
  const { record: open } = useSearch({ strict: false }) as { record?: string };
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const setOpen = (record: string | null) =>
    void navigate({ to: pathname, search: (record === null ? {} : { record }) as never });
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
  const listed = items?.find(({ id }) => id === open);
  const linked = useQuery({
    queryKey: ['complaints', orgId, 'one', open],
    enabled: open !== undefined && items !== undefined && listed === undefined,
    queryFn: () => take(api.GET('/v1/ucc-complaints/{ucc_id}', { params: { path: { ucc_id: open! } } })),
  });
  const shown = open === undefined ? undefined : (listed ?? linked.data);
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
          <NumberSearch
            search={who}
            label="Find who complains, by the number with its country code"
            placeholder="+919876543210"
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
            <ListCount list={list} one="complaint" many="complaints" />
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
