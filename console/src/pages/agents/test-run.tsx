import { Accordion, Alert, Box, Button, Group, Progress, Skeleton, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { runParts, wantedBy } from './test-form.ts';

type Result = components['schemas']['AgentTestResult'];
type AgentTest = components['schemas']['AgentTest'];

const RUNNING = ['queued', 'running'];
const WHILE_RUNNING_MS = 1000;

/** The results of a run: why each check passed or failed, and what was said. */
export function TestRun({ runId, tests }: { runId: string; tests: readonly AgentTest[] }) {
  const { can } = useProject();
  const queries = useQueryClient();
  const params = { path: { test_run_id: runId } };
  const run = useQuery({
    queryKey: ['test-run', runId],
    queryFn: () => take(api.GET('/v1/test-runs/{test_run_id}', { params })),
    refetchInterval: ({ state }) =>
      RUNNING.includes(state.data?.status ?? 'queued') ? WHILE_RUNNING_MS : false,
  });
  const isRunning = RUNNING.includes(run.data?.status ?? 'queued');
  const results = usePages({
    queryKey: ['test-run', runId, 'results', run.data?.status],
    read: (page) =>
      take(
        api.GET('/v1/test-runs/{test_run_id}/results', {
          params: { ...params, query: { ...page, sort: 'created_at' } },
        }),
      ),
    everyMs: isRunning ? WHILE_RUNNING_MS : false,
  });
  const retry = useRetryFailed();
  const cancel = useMutation({
    mutationFn: () => take(api.POST('/v1/test-runs/{test_run_id}/cancel', { params })),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['test-run', runId] }),
  });
  const failure = run.error ?? results.error;
  if (failure) return <ErrorMessage error={failure} onRetry={retry} />;
  if (!run.data || !results.items) return <Skeleton h={240} />;
  const parts = runParts(run.data);
  const nameOf = (id: string) => tests.find((test) => test.id === id)?.name ?? 'A test that was deleted';
  return (
    <Stack>
      <Group justify="space-between">
        <Group gap="sm">
          <StatusBadge status={run.data.status} />
          <Text size="sm">
            Version {run.data.agent_version}: {run.data.passed} of {run.data.total} passed
          </Text>
        </Group>
        {isRunning && can('edit') && (
          <Button size="xs" variant="default" loading={cancel.isPending} onClick={() => cancel.mutate()}>
            Cancel
          </Button>
        )}
      </Group>
      {cancel.error && <ErrorMessage error={cancel.error} />}
      <Progress.Root size="lg" role="img" aria-label={`${run.data.passed} of ${run.data.total} passed`}>
        <Progress.Section value={parts.passed} color="green" withAria={false} />
        <Progress.Section value={parts.failed} color="red" withAria={false} />
        <Progress.Section value={parts.errored} color="orange" withAria={false} />
      </Progress.Root>
      <Accordion variant="separated" multiple>
        {results.items.map((result) => (
          <Accordion.Item key={result.id} value={result.id}>
            <Accordion.Control>
              <Group justify="space-between" wrap="nowrap" pr="sm">
                <Text size="sm" fw={500}>
                  {nameOf(result.test_id)}
                  {result.iteration > 1 ? `, time ${result.iteration}` : ''}
                </Text>
                <StatusBadge status={result.status} />
              </Group>
            </Accordion.Control>
            <Accordion.Panel>
              <ResultDetail result={result} test={tests.find(({ id }) => id === result.test_id)} />
            </Accordion.Panel>
          </Accordion.Item>
        ))}
      </Accordion>
      <LoadMore shown={results.items.length} {...results} />
    </Stack>
  );
}

function ResultDetail({ result, test }: { result: Result; test: AgentTest | undefined }) {
  return (
    <Stack gap="sm">
      {result.error !== null && (
        <Alert color="orange" variant="light" title="The test could not be completed">
          {result.error}
        </Alert>
      )}
      {result.checks.map((check) => (
        <Group key={check.id} gap="sm" wrap="nowrap" align="flex-start">
          <StatusBadge status={check.passed ? 'passed' : 'failed'} />
          <div>
            <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
              {(test && wantedBy(test, check.id)) ?? check.id}
            </Text>
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {check.reason}
            </Text>
          </div>
        </Group>
      ))}
      {result.session_id !== null && <Conversation sessionId={result.session_id} />}
    </Stack>
  );
}

function Conversation({ sessionId }: { sessionId: string }) {
  const transcript = useQuery({
    queryKey: ['transcript', sessionId],
    queryFn: () =>
      take(api.GET('/v1/sessions/{session_id}/transcript', { params: { path: { session_id: sessionId } } })),
  });
  if (transcript.error)
    return <ErrorMessage error={transcript.error} onRetry={() => void transcript.refetch()} />;
  if (!transcript.data || typeof transcript.data === 'string') return <Skeleton h={80} />;
  return (
    <Stack gap={6} mt="xs">
      <Text size="xs" fw={600} c="dimmed">
        What was said
      </Text>
      {transcript.data.items.map((turn) => {
        const isAgent = turn.role === 'agent';
        return (
          <Box
            key={turn.index}
            maw="85%"
            px="sm"
            py={6}
            style={{
              alignSelf: isAgent ? 'flex-start' : 'flex-end',
              borderRadius: 'var(--mantine-radius-md)',
              background: isAgent
                ? 'var(--mantine-color-default-hover)'
                : 'var(--mantine-primary-color-light)',
            }}
          >
            <Text size="xs" c="dimmed">
              {isAgent ? 'Agent' : 'Caller'}
            </Text>
            <Text size="sm" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
              {turn.text}
            </Text>
          </Box>
        );
      })}
    </Stack>
  );
}
