import { Card, Skeleton, Stack, Table, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { labelOf } from '../../components/schema-form/field.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { differencesOf, pairLines, textOf } from './version-diff.ts';

/** A version with every default, and with what was attached to it. */
function useWholeVersion(agentId: string, version: number) {
  const path = { agent_id: agentId };
  return useQuery({
    queryKey: ['agent', agentId, 'whole-version', version],
    queryFn: async (): Promise<Json> => {
      const [agent, { snapshot }] = await Promise.all([
        take(api.GET('/v1/agents/{agent_id}', { params: { path, query: { version } } })),
        take(
          api.GET('/v1/agents/{agent_id}/versions/{version}', {
            params: { path: { ...path, version: String(version) } },
          }),
        ),
      ]);
      const { tools, analyses, knowledge_bases } = snapshot;
      return { ...agent, tools, analyses, knowledge_bases };
    },
    staleTime: Infinity,
  });
}

/** Where two versions differ, line by line. */
export function Comparison({ agentId, before, after }: { agentId: string; before: number; after: number }) {
  const left = useWholeVersion(agentId, before);
  const right = useWholeVersion(agentId, after);
  const retry = useRetryFailed();
  const failure = left.error ?? right.error;
  const differences = left.data && right.data ? differencesOf(left.data, right.data) : undefined;
  return (
    <Card withBorder radius="md" p="lg">
      <Title order={2} size="h4" mb="sm">
        v{before} and v{after}
      </Title>
      {failure ? (
        <ErrorMessage error={failure} onRetry={retry} />
      ) : !differences ? (
        <Skeleton h={160} />
      ) : differences.length === 0 ? (
        <Text size="sm" c="dimmed">
          They do the same.
        </Text>
      ) : (
        <Stack gap="md">
          {differences.map(({ path, before: was, after: is }) => (
            <div key={path}>
              <Text size="sm" fw={600} mb={4}>
                {path
                  .replace(/^config\./, '')
                  .split('.')
                  .map(labelOf)
                  .join(' › ')}
              </Text>
              <SideBySide before={textOf(was)} after={textOf(is)} />
            </div>
          ))}
        </Stack>
      )}
    </Card>
  );
}

function SideBySide({ before, after }: { before: string; after: string }) {
  const cell = (text: string | null, other: string | null, color: 'red' | 'green') => (
    <Table.Td
      w="50%"
      py={2}
      style={{
        verticalAlign: 'top',
        whiteSpace: 'pre-wrap',
        overflowWrap: 'anywhere',
        fontFamily: 'var(--mantine-font-family-monospace)',
        fontSize: 12,
        ...(text !== other && text !== null && { background: `var(--mantine-color-${color}-light)` }),
      }}
    >
      {text ?? ''}
    </Table.Td>
  );
  return (
    <Table withTableBorder withColumnBorders layout="fixed" horizontalSpacing="sm">
      <Table.Tbody>
        {pairLines(before, after).map((pair, index) => (
          <Table.Tr key={index} style={{ border: 0 }}>
            {cell(pair.before, pair.after, 'red')}
            {cell(pair.after, pair.before, 'green')}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  );
}
