import {
  Card,
  Group,
  Progress,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Table,
  Text,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import { useState } from 'react';
import { useDailyStatistics } from '../../api/daily-statistics.ts';
import { DayChart } from '../../components/day-chart.tsx';
import { daysFrom, formatDay } from '../../components/days.ts';
import { formatCount, formatLatency } from '../../components/format.ts';
import { QueryContent } from '../../components/query-content.tsx';
import { endInWords } from '../calls/call-words.ts';

type Statistics = NonNullable<ReturnType<typeof useDailyStatistics>['query']['data']>;

const PERIODS = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
];
/** Ways to end that are shown; the rest is summed up. */
const REASONS = 5;

/** What the calls of the last days were like: by day as charts, and as a table for whoever does not see them. */
export function DailyCharts() {
  const [days, setDays] = useState('7');
  const { query, from, to } = useDailyStatistics(Number(days), 'day');
  return (
    <section aria-labelledby="daily">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="daily">
          The last days
        </Title>
        <SegmentedControl size="xs" value={days} onChange={setDays} data={PERIODS} aria-label="Period" />
      </Group>
      <QueryContent query={query}>
        {(statistics) => <Charts statistics={statistics} from={from} to={to} />}
      </QueryContent>
    </section>
  );
}

function Charts({ statistics, from, to }: { statistics: Statistics; from: string; to: string }) {
  const { items, period } = statistics;
  const days = daysFrom(from, to).map((date) => {
    const day = items.find((item) => item.date === date);
    return {
      ...{ date, sessions: day?.sessions ?? 0, minutes: day?.minutes ?? 0 },
      ...{ answered: day?.answer_rate ?? null, replyMs: day?.reply_latency.median_ms ?? null },
    };
  });
  const valuesOf = (of: (day: (typeof days)[number]) => number | null) =>
    days.map((day) => ({ date: day.date, value: of(day) }));
  return (
    <>
      <SimpleGrid cols={{ base: 2, lg: 4 }} spacing={{ base: 'xs', xs: 'md' }}>
        <DayChart
          title="Calls"
          figure={formatCount(period.sessions)}
          days={valuesOf(({ sessions }) => sessions)}
          format={formatCount}
        />
        <DayChart
          title="Minutes"
          figure={minutes(period.minutes)}
          days={valuesOf((day) => day.minutes)}
          format={minutes}
        />
        <DayChart
          title="Answered"
          figure={orDash(period.answer_rate, percent)}
          days={valuesOf(({ answered }) => answered)}
          format={percent}
        />
        <DayChart
          title="Reply time, median"
          figure={orDash(period.reply_latency.median_ms, formatLatency)}
          days={valuesOf(({ replyMs }) => replyMs)}
          format={formatLatency}
        />
      </SimpleGrid>
      <VisuallyHidden>
        <Table>
          <Table.Caption>Calls by day</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              {['Day', 'Calls', 'Minutes', 'Answered', 'Reply time, median'].map((title) => (
                <Table.Th key={title}>{title}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {days.map((day) => (
              <Table.Tr key={day.date}>
                <Table.Th scope="row">{formatDay(day.date)}</Table.Th>
                <Table.Td>{formatCount(day.sessions)}</Table.Td>
                <Table.Td>{minutes(day.minutes)}</Table.Td>
                <Table.Td>{orDash(day.answered, percent)}</Table.Td>
                <Table.Td>{orDash(day.replyMs, formatLatency)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </VisuallyHidden>
      {period.sessions > 0 && <Ends period={period} />}
    </>
  );
}

function Ends({ period: { sessions: total, end_reasons: reasons } }: { period: Statistics['period'] }) {
  const rest = reasons.slice(REASONS).reduce((sum, { sessions }) => sum + sessions, 0);
  const shown = [
    ...reasons.slice(0, REASONS),
    ...(rest > 0 ? [{ reason: 'in_other_ways', sessions: rest }] : []),
  ];
  return (
    <Card withBorder padding="md" mt="md" bg="var(--parley-surface)">
      <Text size="sm" c="dimmed" mb="xs">
        How calls ended
      </Text>
      <Stack gap={6}>
        {shown.map(({ reason, sessions }) => (
          <Group key={reason} gap="sm" wrap="nowrap">
            <Text size="sm" w={{ base: 120, xs: 200 }} truncate>
              {endInWords(reason)}
            </Text>
            <Progress value={(100 * sessions) / total} flex={1} aria-hidden />
            <Text size="sm" w={110} ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {formatCount(sessions)} · {percent(sessions / total)}
            </Text>
          </Group>
        ))}
      </Stack>
    </Card>
  );
}

function orDash(value: number | null, format: (value: number) => string): string {
  return value === null ? '–' : format(value);
}

function percent(part: number): string {
  return `${Math.round(100 * part)} %`;
}

function minutes(value: number): string {
  return formatCount(Math.round(value * 10) / 10);
}
