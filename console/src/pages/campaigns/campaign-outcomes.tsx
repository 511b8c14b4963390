import { Card, Group, Table, Text, Title, VisuallyHidden } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { countOf, formatCount, formatTime } from '../../components/format.ts';
import { OUTCOMES, totalsOf } from './campaign-words.ts';
import type { Campaign } from './campaign-words.ts';
import './campaign-outcomes.css';

type Stretch = components['schemas']['CampaignOutcomes']['items'][number];

const WHILE_LIVE_MS = 10_000;
const DAY_SECONDS = 86_400;

/** What the calls of a campaign came to, over time; nothing before the first is over. @param isMoving calls may end */
export function OutcomesOverTime({
  campaign: { id, status },
  isMoving,
}: {
  campaign: Campaign;
  isMoving: boolean;
}) {
  const query = useQuery({
    // Another one once it has come to rest: what ended last is in it.
    queryKey: ['campaign', id, 'outcomes', status, isMoving],
    queryFn: () =>
      take(api.GET('/v1/campaigns/{campaign_id}/outcomes', { params: { path: { campaign_id: id } } })),
    placeholderData: keepPreviousData,
    refetchInterval: isMoving ? WHILE_LIVE_MS : false,
  });
  if (query.error && !query.data)
    return <ErrorMessage error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data || query.data.items.length === 0) return null;
  return <Chart stretches={query.data.items} seconds={query.data.interval_seconds ?? 0} />;
}

function Chart({ stretches, seconds }: { stretches: readonly Stretch[]; seconds: number }) {
  const { timezone } = useProject();
  const form = seconds < DAY_SECONDS ? 'short' : 'date';
  const time = (iso: string) => formatTime(iso, timezone, form);
  const highest = Math.max(...stretches.map(({ attempts }) => attempts), 1);
  const totals = totalsOf(stretches);
  return (
    <Card
      withBorder
      radius="md"
      p="md"
      bg="var(--parley-surface)"
      component="section"
      aria-labelledby="outcomes"
    >
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5" id="outcomes">
          Outcomes over time
        </Title>
        <Text size="xs" c="dimmed">
          Each bar is {lengthInWords(seconds)}
        </Text>
      </Group>
      <div className="outcome-bars" aria-hidden>
        {stretches.map(({ from, outcomes }) => (
          <div key={from} title={`${time(from)}: ${told(outcomes) || 'no call ended'}`}>
            {outcomes.map((one) => (
              <div
                key={one.outcome}
                style={{
                  height: `${(100 * one.attempts) / highest}%`,
                  background: OUTCOMES[one.outcome].color,
                }}
              />
            ))}
          </div>
        ))}
      </div>
      <Group justify="space-between" mt={4} aria-hidden>
        <Text size="xs" c="dimmed">
          {time(stretches[0]!.from)}
        </Text>
        {stretches.length > 1 && (
          <Text size="xs" c="dimmed">
            {time(stretches.at(-1)!.from)}
          </Text>
        )}
      </Group>
      <Group gap="md" mt="sm" component="ul" p={0} my={0} style={{ listStyle: 'none' }}>
        {totals.map(({ outcome, attempts }) => (
          <Text key={outcome} component="li" size="xs">
            <span className="outcome-key" style={{ background: OUTCOMES[outcome].color }} aria-hidden />
            {OUTCOMES[outcome].label}: {formatCount(attempts)}
          </Text>
        ))}
      </Group>
      <VisuallyHidden>
        <Table>
          <Table.Caption>Outcomes over time</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>From</Table.Th>
              <Table.Th>Calls that ended</Table.Th>
              <Table.Th>What they came to</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {stretches
              .filter(({ attempts }) => attempts > 0)
              .map(({ from, attempts, outcomes }) => (
                <Table.Tr key={from}>
                  <Table.Th scope="row">{time(from)}</Table.Th>
                  <Table.Td>{formatCount(attempts)}</Table.Td>
                  <Table.Td>{told(outcomes)}</Table.Td>
                </Table.Tr>
              ))}
          </Table.Tbody>
        </Table>
      </VisuallyHidden>
    </Card>
  );
}

function told(outcomes: Stretch['outcomes']): string {
  return outcomes
    .map(({ outcome, attempts }) => `${OUTCOMES[outcome].label.toLowerCase()} ${formatCount(attempts)}`)
    .join(', ');
}

function lengthInWords(seconds: number): string {
  if (seconds % 604_800 === 0) return countOf(seconds / 604_800, 'week', 'weeks');
  if (seconds % DAY_SECONDS === 0) return countOf(seconds / DAY_SECONDS, 'day', 'days');
  if (seconds % 3600 === 0) return countOf(seconds / 3600, 'hour', 'hours');
  return countOf(seconds / 60, 'minute', 'minutes');
}
