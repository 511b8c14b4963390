import { Button, Card, Group, ScrollArea, Table, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { readAll } from '../../api/list-pages.ts';
import { csvFile } from '../../components/csv.ts';
import { daysBefore } from '../../components/days.ts';
import { EmptyRow } from '../../components/empty-row.tsx';
import { formatCount, formatLatency } from '../../components/format.ts';
import { Download } from '../../components/icons.ts';
import { QueryContent } from '../../components/query-content.tsx';
import { saveFile } from '../../components/save-file.ts';

/** The API tells figures of agents for so many days at once. */
const MOST_DAYS = 30;

/** Of the file, named as the API names them. */
const COLUMNS = ['agent_id', 'agent', 'sessions', 'answer_rate', 'minutes', 'median_reply_ms'];

interface AgentFigures {
  id: string | null;
  name: string;
  sessions: number;
  answer_rate: number;
  minutes: number;
  reply_latency: { median_ms: number | null };
}

function cellsOf({ id, name, sessions, answer_rate, minutes, reply_latency }: AgentFigures) {
  return [id, name, sessions, answer_rate, minutes, reply_latency.median_ms];
}

/** What each agent of a project did in the last days of the time that is shown. */
export function UsageByAgent({
  orgId,
  projectId,
  from: first,
  to,
  timezone,
}: {
  orgId: string;
  projectId: string;
  from: string;
  to: string;
  timezone: string;
}) {
  const path = { org_id: orgId, project_id: projectId };
  const earliest = daysBefore(to, MOST_DAYS - 1);
  const from = first < earliest ? earliest : first;
  const query = useQuery({
    queryKey: ['usage-by-agent', projectId, from, to, timezone],
    queryFn: async () => {
      const [statistics, agents] = await Promise.all([
        take(
          api.GET('/v1/orgs/{org_id}/projects/{project_id}/statistics/daily', {
            params: { path, query: { from, to, timezone, by: 'agent' } },
          }),
        ),
        readAll((page) =>
          take(api.GET('/v1/orgs/{org_id}/projects/{project_id}/agents', { params: { path, query: page } })),
        ),
      ]);
      const names = new Map(agents.map(({ id, name }) => [id, name]));
      return statistics.items.map(({ agent_id: id, ...figures }) => ({
        ...figures,
        id,
        name: id === null ? 'No agent' : (names.get(id) ?? id),
      }));
    },
  });
  return (
    <section aria-labelledby="by-agent">
      <Group justify="space-between" mb="sm">
        <Title order={2} size="h4" id="by-agent">
          {from === first ? 'By agent' : `By agent, the last ${MOST_DAYS} of these days`}
        </Title>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<Download size={14} />}
          disabled={!query.data}
          onClick={() =>
            saveFile(csvFile([COLUMNS, ...query.data!.map(cellsOf)]), `usage by agent ${from} to ${to}.csv`)
          }
        >
          Export CSV
        </Button>
      </Group>
      <QueryContent query={query}>
        {(agents) => (
          <Card withBorder radius="md" p={0}>
            <ScrollArea tabIndex={0} aria-label="Usage by agent" role="region">
              <Table miw={480} style={{ fontVariantNumeric: 'tabular-nums' }}>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>Agent</Table.Th>
                    <Table.Th ta="right">Calls</Table.Th>
                    <Table.Th ta="right">Answered</Table.Th>
                    <Table.Th ta="right">Minutes</Table.Th>
                    <Table.Th ta="right">Reply time</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {agents.map(
                    ({ id, name, sessions, answer_rate, minutes, reply_latency: { median_ms } }) => (
                      <Table.Tr key={id}>
                        <Table.Td style={{ overflowWrap: 'anywhere' }}>{name}</Table.Td>
                        <Table.Td ta="right">{formatCount(sessions)}</Table.Td>
                        <Table.Td ta="right">{`${Math.round(100 * answer_rate)} %`}</Table.Td>
                        <Table.Td ta="right">{formatCount(Math.round(minutes * 10) / 10)}</Table.Td>
                        <Table.Td ta="right">{median_ms === null ? '–' : formatLatency(median_ms)}</Table.Td>
                      </Table.Tr>
                    ),
                  )}
                  {agents.length === 0 && <EmptyRow columns={5} text="No call ended on these days." />}
                </Table.Tbody>
              </Table>
            </ScrollArea>
          </Card>
        )}
      </QueryContent>
    </section>
  );
}
