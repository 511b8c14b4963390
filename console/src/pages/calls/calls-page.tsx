import { Anchor, Badge, Button, Center, Group, Loader, Menu, Stack, Text, TextInput } from '@mantine/core';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import { takeFile } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { STATUS_WIDTH } from '../../components/columns.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { Duration } from '../../components/duration.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatLatency, inWords } from '../../components/format.ts';
import {
  Bookmark,
  Columns3,
  Download,
  Phone,
  PhoneIncoming,
  PhoneOutgoing,
  Globe,
  Trash2,
} from '../../components/icons.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { saveFile } from '../../components/save-file.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { tellFailure } from '../../components/tell-failure.ts';
import { CALL_COLUMNS, COLUMN_LABELS } from './call-columns.ts';
import type { CallColumn } from './call-columns.ts';
import { useAgentNames, useCalls, useCampaignNames } from './call-data.ts';
import type { ListedCall } from './call-data.ts';
import { countFilters, readCallFilter, toCallQuery } from './call-filter.ts';
import type { CallFilter } from './call-filter.ts';
import { DIRECTION_WORDS, endOf, farEndOf, ownNumberOf, wordFor } from './call-words.ts';
import { CallCount, FilterBar } from './filter-bar.tsx';
import { loadColumns, loadViews, removeView, saveColumns, saveView } from './saved-views.ts';

/** All calls of a project. */
export default function CallsPage() {
  const project = useProject();
  const { orgId, projectId, timezone, can } = project;
  const search = useSearch({ strict: false }) as Record<string, unknown>;
  const key = JSON.stringify(search);
  // The address gives another object with each drawing.
  const filter = useMemo(() => readCallFilter(search), [key]);
  const navigate = useNavigate();
  const { calls, total, pages, error } = useCalls(project, filter);
  const agents = useAgentNames(project);
  const campaigns = useCampaignNames(project);
  const [columns, setColumns] = useState(() => loadColumns(localStorage));
  const setFilter = (next: CallFilter) =>
    void navigate({ to: `/projects/${projectId}/calls`, search: next as never, replace: true });

  const shown = useMemo(
    () => columns.map((column) => columnOf(column, { projectId, agents, campaigns })),
    [columns, projectId, agents, campaigns],
  );
  const path = `/v1/orgs/${orgId}/projects/${projectId}`;
  return (
    <>
      <PageHeader
        title="Calls"
        text="Every conversation, by telephone and on the web. New ones appear by themselves."
        actions={
          <>
            <Views
              projectId={projectId}
              filter={filter}
              columns={columns}
              onOpen={(view) => {
                setColumns(view.columns);
                saveColumns(localStorage, view.columns);
                setFilter(view.filter);
              }}
            />
            <ColumnChoice
              columns={columns}
              onChange={(next) => {
                setColumns(next);
                saveColumns(localStorage, next);
              }}
            />
            <ExportCalls path={path} filter={filter} timezone={timezone} />
            <CopyCurl
              request={{
                method: 'GET',
                path: `${path}/sessions${queryOf(toCallQuery(filter, Date.now(), timezone))}`,
              }}
            />
          </>
        }
      />
      <Stack gap="sm">
        <FilterBar filter={filter} onChange={setFilter} agents={agents} campaigns={campaigns} />
        {error ? (
          <ErrorMessage error={error} onRetry={() => void pages.refetch()} />
        ) : pages.isPending ? (
          <Center mih={320}>
            <Loader aria-label="Loading" />
          </Center>
        ) : calls.length === 0 && !pages.isPlaceholderData ? (
          countFilters(filter) > 0 ? (
            <EmptyState
              icon={Phone}
              title="No call fits"
              text="No call of this project fits all the filters."
              action={
                <Button variant="default" onClick={() => setFilter({})}>
                  Clear the filters
                </Button>
              }
            />
          ) : (
            <EmptyState
              icon={Phone}
              title="No calls yet"
              text="Every conversation with an agent is listed here while it runs and after it has ended."
              {...(can('edit') && {
                action: (
                  <Button component={Link} to={`/projects/${projectId}/agents`}>
                    Talk to an agent
                  </Button>
                ),
              })}
            />
          )
        ) : (
          <>
            <CallCount total={total} />
            <DataTable
              label="Calls"
              rows={calls}
              columns={shown}
              rowKey={({ session_id }) => session_id}
              onOpen={({ session_id }) => void navigate({ to: `/projects/${projectId}/calls/${session_id}` })}
              hasMore={pages.hasNextPage}
              loadingMore={pages.isFetchingNextPage}
              onLoadMore={() => void pages.fetchNextPage()}
              height="max(360px, calc(100vh - 290px))"
            />
          </>
        )}
      </Stack>
    </>
  );
}

function queryOf(query: object): string {
  const text = new URLSearchParams(
    Object.entries(query).flatMap(([name, value]) =>
      [value as string | number | string[]].flat().map((one) => [name, String(one)]),
    ),
  ).toString();
  return text === '' ? '' : `?${text}`;
}

const WIDTHS: Readonly<Record<CallColumn, string>> = {
  time: '140px',
  caller: 'minmax(170px, 1.4fr)',
  number: '140px',
  agent: 'minmax(140px, 1.2fr)',
  version: '86px',
  direction: '120px',
  status: STATUS_WIDTH,
  end: 'minmax(140px, 1fr)',
  duration: '96px',
  reply: '104px',
  turns: '80px',
  outcome: 'minmax(120px, 1fr)',
  goal: '120px',
  campaign: 'minmax(140px, 1fr)',
  language: '104px',
  carrier: '104px',
  id: '300px',
};
const NUMBERS: readonly CallColumn[] = ['version', 'duration', 'reply', 'turns'];

/** What cells show besides the call itself. */
interface CellContext {
  projectId: string;
  /** Names by id. */
  agents: ReadonlyMap<string, string>;
  campaigns: ReadonlyMap<string, string>;
}

function NameOf({ id, names }: { id: string | null; names: ReadonlyMap<string, string> }) {
  return id === null ? '–' : <bdi title={names.get(id) ?? id}>{names.get(id) ?? id}</bdi>;
}

function columnOf(id: CallColumn, context: CellContext): DataColumn<ListedCall> {
  return {
    id,
    title: COLUMN_LABELS[id],
    width: WIDTHS[id],
    ...(NUMBERS.includes(id) && { align: 'end' as const }),
    cell: (call) => cellOf(id, call, context),
  };
}

function cellOf(
  column: CallColumn,
  call: ListedCall,
  { projectId, agents, campaigns }: CellContext,
): ReactNode {
  switch (column) {
    case 'time':
      return (
        <Anchor component={Link} to={`/projects/${projectId}/calls/${call.session_id}`} size="sm" c="inherit">
          <Time value={call.started_at ?? call.created_at} />
        </Anchor>
      );
    case 'caller': {
      const caller = farEndOf(call);
      if (caller !== null) return <bdi title={caller}>{caller}</bdi>;
      return (
        <Text span size="sm" c="dimmed">
          {call.direction === 'web' ? 'Web visitor' : 'Unknown'}
        </Text>
      );
    }
    case 'number':
      return ownNumberOf(call) ?? '–';
    case 'version':
      return call.detail?.agent_version ?? '–';
    case 'outcome':
      return call.detail?.outcome == null ? '–' : <bdi>{inWords(call.detail.outcome)}</bdi>;
    case 'campaign':
      return <NameOf id={call.detail?.campaign_id ?? null} names={campaigns} />;
    case 'agent':
      return <NameOf id={call.agent_id} names={agents} />;
    case 'direction':
      return <Direction direction={call.direction} />;
    case 'status':
      return <StatusBadge status={call.status} />;
    case 'end':
      return (
        <Text span size="sm" {...(call.failure_reason !== null && { c: 'red' })}>
          {endOf(call) ?? '–'}
        </Text>
      );
    case 'duration':
      return <Duration seconds={call.duration_seconds} />;
    case 'reply':
      return call.avg_agent_latency_ms === null ? '–' : formatLatency(call.avg_agent_latency_ms);
    case 'turns':
      return call.message_count;
    case 'goal':
      return call.goal_status === null ? (
        '–'
      ) : (
        <Badge variant="light" tt="none" radius="sm">
          {inWords(call.goal_status)}
        </Badge>
      );
    case 'language':
      return call.language ?? '–';
    case 'carrier':
      return call.provider === null ? '–' : inWords(call.provider);
    case 'id':
      return <code>{call.session_id}</code>;
  }
}

const DIRECTION_ICONS = { web: Globe, inbound: PhoneIncoming, outbound: PhoneOutgoing } as const;

function Direction({ direction }: { direction: ListedCall['direction'] }) {
  const Icon = DIRECTION_ICONS[direction];
  return (
    <Group gap={6} wrap="nowrap" component="span" display="inline-flex">
      <Icon size={14} aria-hidden />
      {wordFor(DIRECTION_WORDS, direction)}
    </Group>
  );
}

function Views({
  projectId,
  filter,
  columns,
  onOpen,
}: {
  projectId: string;
  filter: CallFilter;
  columns: CallColumn[];
  onOpen: (view: { filter: CallFilter; columns: CallColumn[] }) => void;
}) {
  const [views, setViews] = useState(() => loadViews(localStorage, projectId));
  const [name, setName] = useState('');
  return (
    <Menu position="bottom-end" width={280} closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" leftSection={<Bookmark size={15} />}>
          Views
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {views.map((view) => (
          <Group key={view.name} gap={0} wrap="nowrap">
            <Menu.Item onClick={() => onOpen(view)} style={{ flex: 1, minWidth: 0 }}>
              <Text size="sm" truncate>
                <bdi>{view.name}</bdi>
              </Text>
            </Menu.Item>
            <Menu.Item
              w={40}
              aria-label={`Remove the view ${view.name}`}
              onClick={() => setViews(removeView(localStorage, projectId, view.name))}
            >
              <Trash2 size={14} />
            </Menu.Item>
          </Group>
        ))}
        {views.length === 0 && (
          <Text size="sm" c="dimmed" p="xs">
            A view keeps filters and columns under a name, in this browser.
          </Text>
        )}
        <Menu.Divider />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (name.trim() === '') return;
            setViews(saveView(localStorage, projectId, { name, filter, columns }));
            setName('');
          }}
        >
          <Group gap="xs" p="xs" wrap="nowrap">
            <TextInput
              size="xs"
              aria-label="Name of the view"
              placeholder="Name of this view"
              maxLength={60}
              value={name}
              onChange={(event) => setName(event.currentTarget.value)}
              // The menu would take letters for a search among its items.
              onKeyDown={(event) => event.stopPropagation()}
              style={{ flex: 1 }}
            />
            <Button size="compact-sm" type="submit" disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </form>
      </Menu.Dropdown>
    </Menu>
  );
}

function ColumnChoice({
  columns,
  onChange,
}: {
  columns: CallColumn[];
  onChange: (columns: CallColumn[]) => void;
}) {
  return (
    <Menu position="bottom-end" closeOnItemClick={false}>
      <Menu.Target>
        <Button variant="default" leftSection={<Columns3 size={15} />}>
          Columns
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {CALL_COLUMNS.filter((column) => column !== 'time').map((column) => {
          const on = columns.includes(column);
          return (
            <Menu.CheckboxItem
              key={column}
              checked={on}
              onChange={() =>
                onChange(CALL_COLUMNS.filter((one) => (one === column ? !on : columns.includes(one))))
              }
            >
              {COLUMN_LABELS[column]}
            </Menu.CheckboxItem>
          );
        })}
      </Menu.Dropdown>
    </Menu>
  );
}

const EXPORTS = [
  { path: 'sessions', label: 'Calls' },
  { path: 'turns', label: 'Transcripts, a turn a line' },
  { path: 'tool-calls', label: 'Tool calls' },
] as const;

/** Exports of the API, narrowed to what the table shows. */
function ExportCalls({ path, filter, timezone }: { path: string; filter: CallFilter; timezone: string }) {
  const [busy, setBusy] = useState(false);
  async function run(kind: string) {
    setBusy(true);
    try {
      const { sort: _, ...query } = toCallQuery(filter, Date.now(), timezone);
      saveFile(
        await takeFile(`${path}/exports/${kind}${queryOf({ format: 'csv', ...query })}`),
        `${kind}.csv`,
      );
    } catch (error) {
      tellFailure('The export did not work', error);
    } finally {
      setBusy(false);
    }
  }
  const narrowed = countFilters(filter) > 0;
  return (
    <Menu position="bottom-end" width={280}>
      <Menu.Target>
        <Button variant="default" leftSection={<Download size={15} />} loading={busy}>
          Export
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{narrowed ? 'What the filters leave, as CSV' : 'All of the project, as CSV'}</Menu.Label>
        {EXPORTS.map(({ path: kind, label }) => (
          <Menu.Item key={kind} onClick={() => void run(kind)}>
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
