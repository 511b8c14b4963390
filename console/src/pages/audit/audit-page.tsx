import { Anchor, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useOrg, useProjects } from '../../app/project.ts';
import { timeColumn } from '../../components/columns.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { ScrollText } from '../../components/icons.ts';
import { ListCount } from '../../components/list-count.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import {
  AUDIT_ACTIONS,
  NO_FILTER,
  actionInWords,
  isFiltered,
  problemOf,
  readAuditFilter,
  toAddress,
  toAuditQuery,
} from './audit-filter.ts';
import type { AuditFilter } from './audit-filter.ts';

type Entry = components['schemas']['AuditEntry'];

/** How long after a key the list is asked for. */
const TYPED_MS = 300;

/** Who acts besides users and API keys. */
const OTHERS = [
  { value: 'cli', label: 'Command line' },
  { value: 'system', label: 'The server' },
];

/** Who did what in the org, to what, from where, when. */
export default function AuditPage() {
  const { orgId, orgName, can } = useOrg();
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const filter = readAuditFilter(search);
  const navigate = useNavigate();
  const { pathname } = useLocation();
  const setFilter = (next: AuditFilter) =>
    void navigate({ to: pathname, search: toAddress(next) as never, replace: true });
  const query = toAuditQuery(filter);
  const problem = problemOf(filter);
  const list = usePages({
    queryKey: ['audit', orgId, query],
    enabled: problem === null,
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/audit-entries', {
          params: { path: { org_id: orgId }, query: { ...page, ...query } },
        }),
      ),
  });
  const people = usePeople(orgId, can('administer'));
  const projects = useProjects(orgId);
  const projectNames = new Map(projects.data?.items.map(({ id, name }) => [id, name]));
  const change = (part: Partial<AuditFilter>) => setFilter({ ...filter, ...part });
  const nameOf = (actor: string) =>
    [...OTHERS, ...people].find(({ value }) => value === actor)?.label ??
    (actor.startsWith('key_') ? 'API key' : actor.startsWith('usr_') ? 'User' : actor);

  const columns: DataColumn<Entry>[] = [
    timeColumn('When', ({ created_at }) => created_at),
    {
      id: 'actor',
      title: 'Who',
      width: 'minmax(150px, 1.2fr)',
      cell: ({ actor }) => (
        <Narrow what={`Only what ${nameOf(actor)} did`} title={actor} onClick={() => change({ actor })}>
          {nameOf(actor)}
        </Narrow>
      ),
    },
    {
      id: 'action',
      title: 'What',
      width: 'minmax(160px, 1.2fr)',
      cell: ({ action }) => (
        <Narrow what={`Only: ${actionInWords(action)}`} title={action} onClick={() => change({ action })}>
          {actionInWords(action)}
        </Narrow>
      ),
    },
    {
      id: 'target',
      title: 'To what',
      width: 'minmax(290px, 2fr)',
      cell: ({ target }) => (
        <Narrow what={`Only what was done to ${target}`} title={target} onClick={() => change({ target })}>
          {target}
        </Narrow>
      ),
    },
    {
      id: 'project',
      title: 'Project',
      width: 'minmax(120px, 1fr)',
      cell: ({ project_id }) => (project_id === null ? '–' : (projectNames.get(project_id) ?? project_id)),
    },
    { id: 'address', title: 'Address', width: '150px', cell: ({ address }) => address || '–' },
  ];
  return (
    <>
      <PageHeader
        title="Audit trail"
        text={`Who did what in ${orgName}: members, keys, credentials, exports, erasures, money. Days and times are in UTC; entries are kept for 400 days.`}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/audit-entries${toSearch(query)}` }}
      />
      <Stack gap="sm">
        {can('administer') && <Filters filter={filter} people={people} nameOf={nameOf} change={change} />}
        {problem !== null ? (
          <Text size="sm" c="red" role="alert">
            {problem}
          </Text>
        ) : list.error ? (
          <ErrorMessage error={list.error} onRetry={list.retry} />
        ) : !list.items ? (
          <Loading height="30vh" />
        ) : list.items.length === 0 ? (
          isFiltered(filter) ? (
            <EmptyState
              icon={ScrollText}
              title="No entry fits"
              text="Nothing of this kind was done in the last 400 days."
              action={
                <Button variant="default" onClick={() => setFilter(NO_FILTER)}>
                  Clear the filters
                </Button>
              }
            />
          ) : (
            <EmptyState
              icon={ScrollText}
              title="Nothing yet"
              text="Whoever changes members, keys, credentials or numbers, hears a recording or exports data is listed here."
            />
          )
        ) : (
          <>
            <ListCount list={list} one="entry" many="entries" />
            <DataTable
              label="Audit trail"
              rows={list.items}
              columns={columns}
              rowKey={({ id }) => id}
              hasMore={list.hasMore}
              loadingMore={list.loadingMore}
              onLoadMore={list.loadMore}
              height="max(360px, calc(100vh - 320px))"
            />
          </>
        )}
      </Stack>
    </>
  );
}

interface Person {
  value: string;
  label: string;
}

/** The members of the org, by the ids that entries have. Empty for whoever may not see the trail either. */
function usePeople(orgId: string, enabled: boolean): Person[] {
  const { data } = useQuery({
    queryKey: ['members', orgId, 'all'],
    enabled,
    queryFn: () =>
      readAll((page) =>
        take(api.GET('/v1/orgs/{org_id}/members', { params: { path: { org_id: orgId }, query: page } })),
      ),
  });
  return (data ?? []).map(({ user_id, name, email }) => ({ value: user_id, label: name || email }));
}

function Filters({
  filter,
  people,
  nameOf,
  change,
}: {
  filter: AuditFilter;
  people: readonly Person[];
  nameOf: (actor: string) => string;
  change: (part: Partial<AuditFilter>) => void;
}) {
  const { actor, action, target, from, to } = filter;
  const [typed, setTyped] = useState(target);
  useEffect(() => setTyped(target), [target]);
  const changeTarget = useDebouncedCallback((next: string) => change({ target: next }), TYPED_MS);
  const actors = [...people, ...OTHERS];
  // A key, or somebody who has left, was chosen in the table.
  if (actor !== '' && !actors.some(({ value }) => value === actor))
    actors.push({ value: actor, label: `${nameOf(actor)} ${actor}` });
  return (
    <Group gap="sm" align="flex-end">
      <Select
        label="Who"
        w={{ base: '100%', xs: 200 }}
        placeholder="Anybody"
        clearable
        searchable
        limit={100}
        data={actors}
        value={actor || null}
        onChange={(value) => change({ actor: value ?? '' })}
      />
      <Select
        label="What"
        w={{ base: '100%', xs: 220 }}
        placeholder="Anything"
        clearable
        searchable
        data={AUDIT_ACTIONS.map((value) => ({ value, label: actionInWords(value) }))}
        value={action || null}
        onChange={(value) => change({ action: value ?? '' })}
      />
      <TextInput
        label="To what"
        w={{ base: '100%', xs: 240 }}
        placeholder="Id of a record"
        maxLength={120}
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          changeTarget(event.currentTarget.value);
        }}
      />
      <TextInput
        type="date"
        label="From"
        value={from}
        onChange={(event) => change({ from: event.currentTarget.value })}
      />
      <TextInput
        type="date"
        label="To"
        value={to}
        onChange={(event) => change({ to: event.currentTarget.value })}
      />
    </Group>
  );
}

/** A cell that narrows the list down to those like it. */
function Narrow({
  what,
  title,
  onClick,
  children,
}: {
  what: string;
  title: string;
  onClick: () => void;
  children: string;
}) {
  return (
    <Anchor
      component="button"
      type="button"
      c="inherit"
      size="sm"
      ta="start"
      truncate
      maw="100%"
      aria-label={`${children}. ${what}`}
      title={title}
      onClick={onClick}
    >
      {children}
    </Anchor>
  );
}

function toSearch(query: Record<string, string | string[]>): string {
  const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]));
  return text.size === 0 ? '' : `?${text.toString()}`;
}
