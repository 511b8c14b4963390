import { Card, Group, Progress, SimpleGrid, Text } from '@mantine/core';
import { countOf, formatCount } from '../../components/format.ts';
import { finishedOf } from './campaign-words.ts';
import type { Campaign } from './campaign-words.ts';

/** How far a campaign is, as a bar. */
export function CampaignBar({ counters, size = 'md' }: { counters: Campaign['counters']; size?: string }) {
  const { total, completed, failed, skipped, cancelled } = counters;
  const of = (count: number) => (100 * count) / Math.max(1, total);
  return (
    <Progress.Root
      size={size}
      role="img"
      aria-label={`${formatCount(finishedOf(counters))} of ${countOf(total, 'contact is', 'contacts are')} done with`}
    >
      <Progress.Section value={of(completed)} color="green" withAria={false} />
      <Progress.Section value={of(failed)} color="red" withAria={false} />
      <Progress.Section value={of(skipped + cancelled)} color="gray" withAria={false} />
    </Progress.Root>
  );
}

/** The counters of a campaign, as they stand. */
export function CampaignProgress({ campaign: { counters } }: { campaign: Campaign }) {
  const done = finishedOf(counters);
  const share = counters.total === 0 ? 0 : Math.floor((100 * done) / counters.total);
  const figures: [string, number, string?][] = [
    ['To be called', counters.pending],
    ['To be called again', counters.waiting_retry],
    ['In a call', counters.queued + counters.in_progress],
    ['Reached', counters.completed, 'green'],
    ['Not reached', counters.failed, 'red'],
    ['Left out', counters.skipped + counters.cancelled, 'gray'],
    ['Attempts', counters.attempts],
    ['Answered', counters.answered],
    ['Voicemail', counters.voicemail],
  ];
  return (
    <Card withBorder radius="md" p="md" bg="var(--parley-surface)">
      <Group justify="space-between" mb={6}>
        <Text size="sm" fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
          {formatCount(done)} of {countOf(counters.total, 'contact', 'contacts')}
        </Text>
        <Text size="sm" c="dimmed">
          {share} %
        </Text>
      </Group>
      <CampaignBar counters={counters} />
      <SimpleGrid component="dl" cols={{ base: 3, md: 9 }} spacing="xs" mt="md" mb={0}>
        {figures.map(([label, count, color]) => (
          <div key={label}>
            <Text component="dt" size="xs" c="dimmed">
              {color !== undefined && (
                <span
                  aria-hidden
                  style={{
                    display: 'inline-block',
                    width: 8,
                    height: 8,
                    marginInlineEnd: 5,
                    borderRadius: 4,
                    background: `var(--mantine-color-${color}-filled)`,
                  }}
                />
              )}
              {label}
            </Text>
            <Text component="dd" m={0} fw={600} style={{ fontVariantNumeric: 'tabular-nums' }}>
              {formatCount(count)}
            </Text>
          </div>
        ))}
      </SimpleGrid>
    </Card>
  );
}
