import { Card, ScrollArea, Stack, Table, Text, Title } from '@mantine/core';
import { useTodayAndWeek } from '../../api/daily-statistics.ts';
import { formatCount } from '../../components/format.ts';
import { endInWords } from '../calls/call-words.ts';
import { LatencyBar, LatencyLegend } from '../call/latency-bar.tsx';
import { latencyScale } from '../call/reply-latency.ts';
import type { LatencyPart, ReplyLatency } from '../call/reply-latency.ts';
import { medianReply, reasonShares } from './comparison.ts';
import type { CallFigures } from './comparison.ts';

const WEEK_DAYS = 7;
const PARTS: readonly LatencyPart[] = ['turn_end', 'llm', 'voice'];

/** Today against the seven days before it. */
export function Today() {
  const { data } = useTodayAndWeek();
  if (!data || data.today.sessions + data.week.sessions === 0) return null;
  return (
    <section aria-labelledby="today">
      <Title order={2} size="h4" id="today" mb="sm">
        Today against the last seven days
      </Title>
      <Figures today={data.today} week={data.week} />
    </section>
  );
}

function Figures({ today, week }: { today: CallFigures; week: CallFigures }) {
  const replies = [medianReply(today), medianReply(week)] as const;
  const scale = latencyScale(replies.filter((reply) => reply !== null));
  const rows = [
    ['Calls', formatCount(today.sessions), `${formatCount(perDay(week.sessions))} a day`],
    ['Minutes', formatCount(tenths(today.minutes)), `${formatCount(perDay(week.minutes))} a day`],
    ['Answered', percent(today.answer_rate), percent(week.answer_rate)],
  ] as const;
  return (
    <Card withBorder padding={0} bg="var(--parley-surface)">
      <ScrollArea
        viewportProps={{
          tabIndex: 0,
          role: 'region',
          'aria-label': 'Figures of today and of the last seven days',
        }}
      >
        <Table miw={{ base: 328, xs: 480 }} layout="fixed" style={{ fontVariantNumeric: 'tabular-nums' }}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th />
              <Table.Th scope="col">Today</Table.Th>
              <Table.Th scope="col">Last seven days</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(([title, now, before]) => (
              <Table.Tr key={title}>
                <Table.Th scope="row">{title}</Table.Th>
                <Table.Td>{now}</Table.Td>
                <Table.Td>{before}</Table.Td>
              </Table.Tr>
            ))}
            <Table.Tr>
              <Table.Th scope="row">Reply time, median</Table.Th>
              {replies.map((reply, index) => (
                <Table.Td key={index}>
                  <Reply reply={reply} scale={scale} />
                </Table.Td>
              ))}
            </Table.Tr>
            {reasonShares(today, week).map(({ reason, today: now, week: before }) => (
              <Table.Tr key={reason}>
                <Table.Th scope="row" fw={400}>
                  Ended: {endInWords(reason)}
                </Table.Th>
                <Table.Td>{percent(now)}</Table.Td>
                <Table.Td>{percent(before)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </ScrollArea>
      {replies.some((reply) => reply !== null) && (
        <Stack gap={2} p="sm">
          <LatencyLegend parts={PARTS} />
          <Text size="xs" c="dimmed">
            Medians of single answers, each at most 5 % off. Those of the parts do not add up to that of the
            whole.
          </Text>
        </Stack>
      )}
    </Card>
  );
}

function Reply({ reply, scale }: { reply: ReplyLatency | null; scale: number }) {
  return reply === null ? '–' : <LatencyBar latency={reply} scale={scale} />;
}

function perDay(count: number): number {
  return tenths(count / WEEK_DAYS);
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function percent(part: number | null): string {
  return part === null ? '–' : `${Math.round(100 * part)} %`;
}
