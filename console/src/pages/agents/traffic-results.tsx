import { Box, Group, ScrollArea, SegmentedControl, Table, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { daysBefore, today } from '../../components/days.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatLatency, formatMoney } from '../../components/format.ts';

const PERIODS = [
  { value: '6', label: '7 days' },
  { value: '29', label: '30 days' },
  { value: '89', label: '90 days' },
];

/** Calls, goals, reply time and cost of each version in a period. */
export function Results({ agentId }: { agentId: string }) {
  const { timezone } = useProject();
  const [days, setDays] = useState('6');
  const from = daysBefore(today(timezone), Number(days));
  const results = useQuery({
    queryKey: ['agent', agentId, 'results', from, timezone],
    queryFn: () =>
      take(
        api.GET('/v1/agents/{agent_id}/traffic/results', {
          params: { path: { agent_id: agentId }, query: { from, timezone } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
  return (
    <Box mt="lg">
      <Group justify="space-between" mb="xs">
        <Text size="sm" fw={600}>
          Results by version
        </Text>
        <SegmentedControl size="xs" value={days} onChange={setDays} data={PERIODS} aria-label="Period" />
      </Group>
      {results.error ? (
        <ErrorMessage error={results.error} onRetry={() => void results.refetch()} />
      ) : (
        <ScrollArea>
          <Table miw={560}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Version</Table.Th>
                <Table.Th ta="right">Calls</Table.Th>
                <Table.Th ta="right">Connected</Table.Th>
                <Table.Th ta="right">Minutes</Table.Th>
                <Table.Th ta="right">Goal reached</Table.Th>
                <Table.Th ta="right">Reply time</Table.Th>
                <Table.Th ta="right">Cost</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody style={{ fontVariantNumeric: 'tabular-nums' }}>
              {results.data?.items.map((arm) => {
                const judged = arm.goals.achieved + arm.goals.not_achieved;
                return (
                  <Table.Tr key={arm.version}>
                    <Table.Td>v{arm.version}</Table.Td>
                    <Table.Td ta="right">{arm.sessions}</Table.Td>
                    <Table.Td ta="right">{arm.connected_sessions}</Table.Td>
                    <Table.Td ta="right">{arm.minutes.toFixed(1)}</Table.Td>
                    <Table.Td ta="right">
                      {judged === 0
                        ? '–'
                        : `${Math.round((100 * arm.goals.achieved) / judged)} % of ${judged}`}
                    </Table.Td>
                    <Table.Td ta="right">
                      {arm.average_reply_ms === null ? '–' : formatLatency(arm.average_reply_ms)}
                    </Table.Td>
                    <Table.Td ta="right">{formatMoney(arm.total_amount, results.data.currency)}</Table.Td>
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
    </Box>
  );
}
