import {
  Button,
  Card,
  Group,
  ScrollArea,
  Select,
  SimpleGrid,
  Stack,
  Table,
  Text,
  TextInput,
} from '@mantine/core';
import { keepPreviousData, useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take, takeFile } from '../../api/client.ts';
import { useOrg, useProfile, useProjects } from '../../app/project.ts';
import { csvFile } from '../../components/csv.ts';
import { DayChart } from '../../components/day-chart.tsx';
import { daysBefore, formatDay, today } from '../../components/days.ts';
import { EmptyRow } from '../../components/empty-row.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount, formatMoney } from '../../components/format.ts';
import { Download } from '../../components/icons.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';
import { saveFile } from '../../components/save-file.ts';
import { UsageByAgent } from './usage-by-agent.tsx';

const MOST_DAYS = 366;
const PERIODS = [
  { value: 'month', label: 'This month' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '90', label: 'Last 90 days' },
  { value: 'own', label: 'Other days' },
];

/** What calls came to and what they cost: by day for the org or a project, and by agent for a project. */
export default function UsagePage() {
  const { orgId, orgName } = useOrg();
  const { timezone } = useProfile();
  const projects = useProjects(orgId);
  const now = today(timezone);
  const [period, setPeriod] = useState('30');
  const [own, setOwn] = useState({ from: daysBefore(now, 29), to: now });
  const [projectId, setProjectId] = useState<string | null>(null);
  const { from, to } =
    period === 'own'
      ? own
      : { from: period === 'month' ? `${now.slice(0, 8)}01` : daysBefore(now, Number(period) - 1), to: now };
  const problem =
    from === '' || to === '' || from > to
      ? 'Choose a first day, and a last day that is not before it.'
      : from < daysBefore(to, MOST_DAYS - 1)
        ? `At most ${MOST_DAYS} days are shown at once.`
        : null;
  const query = { from, to, timezone, ...(projectId !== null && { project_id: projectId }) };
  const params = { path: { org_id: orgId }, query };
  const usage = useQuery({
    queryKey: ['usage', orgId, query],
    enabled: problem === null,
    queryFn: async () => {
      const [summary, daily] = await Promise.all([
        take(api.GET('/v1/orgs/{org_id}/usage/cost-summary', { params })),
        take(api.GET('/v1/orgs/{org_id}/usage/daily', { params })),
      ]);
      return { summary, days: daily.items };
    },
    placeholderData: keepPreviousData,
  });
  const projectName = projects.data?.items.find(({ id }) => id === projectId)?.name;
  return (
    <>
      <PageHeader
        title="Usage"
        text={`What the calls of ${projectName ?? orgName} came to and what they cost. A call counts on the day on which it ended (${timezone}).`}
        actions={
          problem === null && (
            <ExportUsage
              orgId={orgId}
              projectId={projectId}
              days={{ from, to, timezone }}
              shown={usage.isPlaceholderData ? undefined : usage.data?.days}
            />
          )
        }
        request={{
          method: 'GET',
          path: `/v1/orgs/${orgId}/usage/daily?${new URLSearchParams(query).toString()}`,
        }}
      />
      <Stack gap="lg">
        <Group gap="sm" align="flex-end">
          <Select
            label="Days"
            w={170}
            allowDeselect={false}
            data={PERIODS}
            value={period}
            onChange={(value) => {
              if (value === 'own') setOwn({ from, to });
              setPeriod(value ?? '30');
            }}
          />
          {period === 'own' && (
            <>
              <TextInput
                type="date"
                label="From"
                max={now}
                value={own.from}
                onChange={(event) => setOwn({ ...own, from: event.currentTarget.value })}
              />
              <TextInput
                type="date"
                label="To"
                max={now}
                value={own.to}
                onChange={(event) => setOwn({ ...own, to: event.currentTarget.value })}
              />
            </>
          )}
          <Select
            label="Project"
            w={230}
            placeholder="All projects"
            clearable
            searchable
            limit={100}
            data={(projects.data?.items ?? []).map(({ id, name }) => ({ value: id, label: name }))}
            value={projectId}
            onChange={setProjectId}
          />
        </Group>
        {problem !== null ? (
          <Text size="sm" c="red" role="alert">
            {problem}
          </Text>
        ) : (
          <QueryContent query={usage}>
            {({ summary, days }) => <Shown summary={summary} days={days} />}
          </QueryContent>
        )}
        {projectId !== null && problem === null && (
          <UsageByAgent orgId={orgId} projectId={projectId} from={from} to={to} timezone={timezone} />
        )}
      </Stack>
    </>
  );
}

interface Summary {
  currency: string;
  total_amount: string;
  previous_total_amount: string;
  average_cost_per_minute_amount: string;
  sessions: number;
  connected_sessions: number;
  minutes: number;
}

interface Day {
  date: string;
  sessions: number;
  connected_sessions: number;
  minutes: number;
  amount: string;
}

function Shown({ summary, days }: { summary: Summary; days: readonly Day[] }) {
  const { currency } = summary;
  const money = (amount: string | number) => formatMoney(amount, currency);
  // The newest first, as one looks for today; days without calls are told by the charts.
  const held = days.filter(({ sessions }) => sessions > 0).toReversed();
  return (
    <>
      <SimpleGrid cols={{ base: 2, lg: 4 }} spacing={{ base: 'xs', xs: 'md' }}>
        <DayChart
          title="Cost"
          figure={money(summary.total_amount)}
          days={days.map(({ date, amount }) => ({ date, value: Number(amount) }))}
          format={money}
        />
        <DayChart
          title="Calls"
          figure={formatCount(summary.sessions)}
          days={days.map(({ date, sessions }) => ({ date, value: sessions }))}
          format={formatCount}
        />
        <DayChart
          title="Connected"
          figure={formatCount(summary.connected_sessions)}
          days={days.map(({ date, connected_sessions }) => ({ date, value: connected_sessions }))}
          format={formatCount}
        />
        <DayChart
          title="Minutes"
          figure={minutes(summary.minutes)}
          days={days.map((day) => ({ date: day.date, value: day.minutes }))}
          format={minutes}
        />
      </SimpleGrid>
      <Text size="sm" c="dimmed">
        {money(summary.previous_total_amount)} in as many days before; a minute costs{' '}
        {money(summary.average_cost_per_minute_amount)} on average.
      </Text>
      <Card withBorder radius="md" p={0}>
        <ScrollArea tabIndex={0} aria-label="Usage by day" role="region">
          <Table miw={480} verticalSpacing="xs" style={{ fontVariantNumeric: 'tabular-nums' }}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Day</Table.Th>
                <Table.Th ta="right">Calls</Table.Th>
                <Table.Th ta="right">Connected</Table.Th>
                <Table.Th ta="right">Minutes</Table.Th>
                <Table.Th ta="right">Cost</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {held.map((day) => (
                <Table.Tr key={day.date}>
                  <Table.Td>{formatDay(day.date)}</Table.Td>
                  <Table.Td ta="right">{formatCount(day.sessions)}</Table.Td>
                  <Table.Td ta="right">{formatCount(day.connected_sessions)}</Table.Td>
                  <Table.Td ta="right">{minutes(day.minutes)}</Table.Td>
                  <Table.Td ta="right">{money(day.amount)}</Table.Td>
                </Table.Tr>
              ))}
              {held.length === 0 && <EmptyRow columns={5} text="No call ended on these days." />}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      </Card>
    </>
  );
}

const COLUMNS = ['date', 'sessions', 'connected_sessions', 'minutes', 'amount'] as const;

/** The days that are shown as a file. Those of a project are exported by the API, which alone has them in one file. */
function ExportUsage({
  orgId,
  projectId,
  days,
  shown,
}: {
  orgId: string;
  projectId: string | null;
  days: { from: string; to: string; timezone: string };
  /** Undefined: they are on their way. */
  shown: readonly Day[] | undefined;
}) {
  const save = useMutation({
    mutationFn: async () =>
      saveFile(
        projectId === null
          ? csvFile([COLUMNS, ...shown!.map((day) => COLUMNS.map((name) => day[name]))])
          : await takeFile(
              `/v1/orgs/${orgId}/projects/${projectId}/exports/usage?${new URLSearchParams(days).toString()}`,
            ),
        `usage ${days.from} to ${days.to}.csv`,
      ),
  });
  return (
    <>
      <Button
        variant="default"
        leftSection={<Download size={15} />}
        disabled={!shown}
        loading={save.isPending}
        onClick={() => save.mutate()}
      >
        Export CSV
      </Button>
      {save.error && <ErrorMessage error={save.error} />}
    </>
  );
}

function minutes(value: number): string {
  return formatCount(Math.round(value * 10) / 10);
}
