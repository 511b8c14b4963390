import { Card, Group, Text } from '@mantine/core';
import { formatDay } from './days.ts';
import './day-chart.css';

/**
 * A figure by day, as bars that tell their value when pointed at. It is left out for whoever does not see the page: there
 * is to be a table beside it.
 */
export function DayChart({
  title,
  figure,
  days,
  format,
}: {
  title: string;
  /** Of the whole time, in words. */
  figure: string;
  /** Oldest first; null: nothing to tell of that day. */
  days: readonly { date: string; value: number | null }[];
  format: (value: number) => string;
}) {
  const highest = Math.max(...days.map(({ value }) => value ?? 0), Number.MIN_VALUE);
  return (
    <Card withBorder padding="md" bg="var(--parley-surface)" aria-hidden>
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <Text size="xl" fw={650} mb="xs" style={{ fontVariantNumeric: 'tabular-nums' }}>
        {figure}
      </Text>
      <div className="day-chart-bars">
        {days.map(({ date, value }) => (
          <div key={date} title={`${formatDay(date)}: ${value === null ? '–' : format(value)}`}>
            {value !== null && value > 0 && <div style={{ height: `${(100 * value) / highest}%` }} />}
          </div>
        ))}
      </div>
      <Group justify="space-between" mt={4}>
        <Text size="xs" c="dimmed">
          {days[0] && formatDay(days[0].date)}
        </Text>
        <Text size="xs" c="dimmed">
          {days.length > 1 && formatDay(days.at(-1)!.date)}
        </Text>
      </Group>
    </Card>
  );
}
