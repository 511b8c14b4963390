import { Button, Group, Select, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take, takeFile } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Upload } from '../../components/build-icons.ts';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { Drawer, Modal } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, inWords } from '../../components/format.ts';
import { Download, Search, Users } from '../../components/icons.ts';
import { Loading } from '../../components/loading.tsx';
import { PeopleSearch, usePeopleSearch } from '../../components/people-search.tsx';
import { saveFile } from '../../components/save-file.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { useRefreshCampaign } from './campaign-actions.tsx';
import { isLive, takesContacts } from './campaign-words.ts';
import type { Campaign, Contact } from './campaign-words.ts';
import { AddContact, ContactDetails } from './contact-details.tsx';
import { ImportProgress, beginImport } from './contact-import.tsx';
import { CsvChoice, problemOfCsv } from './csv-choice.tsx';
import type { ChosenCsv } from './csv-choice.tsx';

const WHILE_LIVE_MS = 5000;
const STATUSES = [
  { value: 'pending', label: 'To be called' },
  { value: 'waiting_retry', label: 'To be called again' },
  { value: 'queued', label: 'About to be called' },
  { value: 'in_progress', label: 'In a call' },
  { value: 'completed', label: 'Reached' },
  { value: 'failed', label: 'Not reached' },
  { value: 'skipped', label: 'Left out' },
  { value: 'cancelled', label: 'Cancelled' },
] as const;
type Status = (typeof STATUSES)[number]['value'];

const COLUMNS: DataColumn<Contact>[] = [
  {
    id: 'number',
    title: 'Number',
    width: 'minmax(150px, 1fr)',
    cell: ({ phone_number }) => phone_number ?? 'Erased',
  },
  { id: 'name', title: 'Name', width: 'minmax(140px, 2fr)', cell: ({ name }) => name ?? '–' },
  {
    id: 'status',
    title: 'Status',
    width: '170px',
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    id: 'outcome',
    title: 'Last call',
    width: '150px',
    cell: ({ outcome, skip_reason }) =>
      outcome !== null ? inWords(outcome) : skip_reason !== null ? inWords(skip_reason) : '–',
  },
  {
    id: 'goal',
    title: 'Goal',
    width: '120px',
    cell: ({ goal_status }) => (goal_status === null ? '–' : inWords(goal_status)),
  },
  {
    id: 'attempts',
    title: 'Attempts',
    align: 'end',
    width: '100px',
    cell: ({ attempts_made }) => attempts_made,
  },
  {
    id: 'next',
    title: 'Next attempt',
    width: '160px',
    cell: ({ next_attempt_at }) => <Time value={next_attempt_at} />,
  },
];

/** Whom a campaign calls, and what came of it. */
export function Contacts({ campaign }: { campaign: Campaign }) {
  const { can } = useProject();
  const [status, setStatus] = useState<Status | null>(null);
  const search = usePeopleSearch();
  const { filter } = search;
  // The address names the contact that is open.
  const { record: open } = useSearch({ strict: false }) as { record?: string };
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const setOpen = (record: string | null) =>
    void navigate({ to: pathname, search: (record === null ? {} : { record }) as never });
  const list = usePages({
    queryKey: ['contacts', campaign.id, status, filter],
    read: (page) =>
      take(
        api.GET('/v1/campaigns/{campaign_id}/contacts', {
          params: {
            path: { campaign_id: campaign.id },
            query: {
              ...{ ...page, sort: 'created_at' as const },
              ...(status !== null && { status: [status] }),
              ...filter,
            },
          },
        }),
      ),
    everyMs: isLive(campaign) ? WHILE_LIVE_MS : false,
  });
  const save = useMutation({
    mutationFn: async () =>
      saveFile(await takeFile(`/v1/campaigns/${campaign.id}/export`), `${campaign.name}.csv`),
  });
  const isFiltered = status !== null || Object.keys(filter).length > 0;
  const mayAdd = can('edit') && takesContacts(campaign);
  const listed = list.items?.find(({ id }) => id === open);
  const linked = useQuery({
    queryKey: ['contacts', campaign.id, 'one', open],
    enabled: open !== undefined && list.items !== undefined && listed === undefined,
    queryFn: () =>
      take(api.GET('/v1/campaign-contacts/{contact_id}', { params: { path: { contact_id: open! } } })),
  });
  const shown = open === undefined ? undefined : (listed ?? linked.data);
  return (
    <Stack gap="sm">
      <Group gap="sm" align="flex-start">
        <PeopleSearch search={search} />
        <Select
          w={{ base: '100%', xs: 200 }}
          placeholder="Any status"
          aria-label="Status"
          clearable
          data={STATUSES as never}
          value={status}
          onChange={(value) => setStatus(value as Status | null)}
        />
        <Group gap="xs" ml={{ base: 0, xs: 'auto' }}>
          {mayAdd && <AddContact campaignId={campaign.id} />}
          {mayAdd && <ImportFile campaignId={campaign.id} />}
          <Button
            variant="default"
            leftSection={<Download size={15} />}
            loading={save.isPending}
            disabled={campaign.counters.total === 0}
            onClick={() => save.mutate()}
          >
            Export
          </Button>
        </Group>
      </Group>
      {save.error && <ErrorMessage error={save.error} />}
      {list.error ? (
        <ErrorMessage error={list.error} onRetry={list.retry} />
      ) : !list.items ? (
        <Loading height="20vh" />
      ) : list.items.length === 0 ? (
        isFiltered ? (
          <EmptyState icon={Search} title="Nobody found" text="No contact of this campaign fits." />
        ) : (
          <EmptyState
            icon={Users}
            title="No contacts yet"
            text="Import a CSV file with a row for each person, or add people one by one."
          />
        )
      ) : (
        <>
          <DataTable
            label="Contacts"
            rows={list.items}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => setOpen(id)}
            hasMore={list.hasMore}
            loadingMore={list.loadingMore}
            onLoadMore={list.loadMore}
            height="60vh"
          />
          {list.hasMore && `${formatCount(list.items.length)} of ${formatCount(list.total)}`}
        </>
      )}
      <Drawer
        opened={shown !== undefined}
        onClose={() => setOpen(null)}
        position="right"
        size="lg"
        title={shown?.name ?? shown?.phone_number ?? 'Contact'}
      >
        {shown && <ContactDetails key={shown.id} contact={shown} onGone={() => setOpen(null)} />}
      </Drawer>
    </Stack>
  );
}

function ImportFile({ campaignId }: { campaignId: string }) {
  const [opened, dialog] = useDisclosure(false);
  const [chosen, setChosen] = useState<ChosenCsv | null>(null);
  const refresh = useRefreshCampaign(campaignId);
  const send = useMutation({ mutationFn: (csv: ChosenCsv) => beginImport(campaignId, csv) });
  const close = () => {
    dialog.close();
    setChosen(null);
    send.reset();
  };
  return (
    <>
      <Button variant="default" leftSection={<Upload size={15} />} onClick={dialog.open}>
        Import
      </Button>
      <Modal opened={opened} onClose={close} title="Import contacts" size="xl">
        <Stack>
          {send.data ? (
            <ImportProgress importId={send.data.id} onDone={() => void refresh()} />
          ) : (
            <CsvChoice chosen={chosen} onChange={setChosen} />
          )}
          {send.error && <ErrorMessage error={send.error} />}
          <Group justify="flex-end">
            {send.data ? (
              <Button onClick={close}>Close</Button>
            ) : (
              <>
                <Button variant="default" onClick={close}>
                  Cancel
                </Button>
                <Button
                  disabled={!chosen || problemOfCsv(chosen) !== null}
                  loading={send.isPending}
                  onClick={() => chosen && send.mutate(chosen)}
                >
                  Import
                </Button>
              </>
            )}
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
