import {
  Badge,
  Button,
  Card,
  Group,
  Menu,
  NumberInput,
  Progress,
  ScrollArea,
  Select,
  Skeleton,
  Stack,
  Table,
  Text,
  Title,
  UnstyledButton,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useLocation, useNavigate, useSearch } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { ApiError, api, take } from '../../api/client.ts';
import { useDescription } from '../../api/description.ts';
import { readAll } from '../../api/list-pages.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useParam, useProject } from '../../app/project.ts';
import { ChevronDown, ListChecks, Play, Plus } from '../../components/build-icons.ts';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { Drawer } from '../../components/dialog.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { LoadMore } from '../../components/load-more.tsx';
import { placeErrors } from '../../components/schema-form/form-errors.ts';
import { patchBetween, setAt } from '../../components/schema-form/form-value.ts';
import type { Json } from '../../components/schema-form/form-value.ts';
import { FormScope } from '../../components/schema-form/form-scope.tsx';
import { OtherErrors } from '../../components/schema-form/other-errors.tsx';
import { GroupFields } from '../../components/schema-form/schema-form.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { tellFailure } from '../../components/tell-failure.ts';
import { Time } from '../../components/time.tsx';
import { AgentFrame } from './agent-frame.tsx';
import { newTest, runParts, testContent, testForm } from './test-form.ts';
import type { TestType } from './test-form.ts';
import { TestRun } from './test-run.tsx';
import { useAgent } from './use-agent-editor.ts';

type AgentTest = components['schemas']['AgentTest'];

const RUNNING = ['queued', 'running'];
const WHILE_RUNNING_MS = 1500;

interface Opened {
  /** Absent: a new one. */
  test?: AgentTest;
  type: TestType;
}

/** Conversations that an agent must pass, and how the runs went. */
export default function TestsPage() {
  const agentId = useParam('agentId');
  const { can } = useProject();
  const [editing, setEditing] = useState<Opened | null>(null);
  const tests = useQuery({
    queryKey: ['agent', agentId, 'tests'],
    queryFn: () =>
      readAll((page) =>
        take(
          api.GET('/v1/agents/{agent_id}/tests', { params: { path: { agent_id: agentId }, query: page } }),
        ),
      ),
  });
  // The address may name the test that is open, as the search leads there.
  const { record: linkedId } = useSearch({ strict: false }) as { record?: string };
  const { pathname } = useLocation();
  const navigate = useNavigate();
  const linked = tests.data?.find(({ id }) => id === linkedId);
  const opened: Opened | null = editing ?? (linked ? { test: linked, type: linked.type } : null);
  const close = () => {
    setEditing(null);
    if (linkedId !== undefined) void navigate({ to: pathname, search: {} as never });
  };
  const mayWrite = can('edit');
  const add = (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="default" leftSection={<Plus size={16} />} rightSection={<ChevronDown size={14} />}>
          New test
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => setEditing({ type: 'scripted' })}>
          <Text size="sm">Script</Text>
          <Text size="xs" c="dimmed">
            The caller says fixed lines
          </Text>
        </Menu.Item>
        <Menu.Item onClick={() => setEditing({ type: 'simulation' })}>
          <Text size="sm">Simulation</Text>
          <Text size="xs" c="dimmed">
            A language model plays the caller
          </Text>
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
  return (
    <AgentFrame agentId={agentId}>
      {tests.error ? (
        <ErrorMessage error={tests.error} onRetry={() => void tests.refetch()} />
      ) : !tests.data ? (
        <Skeleton h={240} radius="md" />
      ) : tests.data.length === 0 ? (
        <EmptyState
          icon={ListChecks}
          title="No tests yet"
          text="A test is a conversation with the agent and what is to come of it. Run them before callers get a new version."
          action={mayWrite && add}
        />
      ) : (
        <Stack gap="lg">
          <Card withBorder radius="md" p="lg">
            <Group justify="space-between" mb="sm">
              <Title order={2} size="h4">
                Tests
              </Title>
              {mayWrite && (
                <Group gap="xs">
                  {add}
                  <RunButton agentId={agentId} />
                </Group>
              )}
            </Group>
            <Table highlightOnHover>
              <Table.Tbody>
                {tests.data.map((test) => (
                  <Table.Tr key={test.id}>
                    <Table.Td>
                      <UnstyledButton fw={500} fz="sm" onClick={() => setEditing({ test, type: test.type })}>
                        {test.name}
                      </UnstyledButton>
                    </Table.Td>
                    <Table.Td visibleFrom="sm">
                      <Badge variant="default" tt="none">
                        {test.type === 'scripted'
                          ? `${test.turns.length} ${test.turns.length === 1 ? 'line' : 'lines'}`
                          : 'Simulation'}
                      </Badge>{' '}
                      <Badge variant="default" tt="none">
                        {test.channel}
                      </Badge>
                    </Table.Td>
                    <Table.Td ta="right">
                      {mayWrite && <RunButton agentId={agentId} testId={test.id} />}
                    </Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Card>
          <Runs agentId={agentId} tests={tests.data} />
        </Stack>
      )}
      <Drawer
        opened={opened !== null}
        onClose={close}
        position="right"
        size="xl"
        title={opened?.test?.name ?? (opened?.type === 'simulation' ? 'New simulation' : 'New script')}
      >
        {opened && (
          <TestEditor
            key={opened.test?.id ?? opened.type}
            agentId={agentId}
            test={opened.test}
            type={opened.type}
            onClose={close}
          />
        )}
      </Drawer>
    </AgentFrame>
  );
}

/** Runs all tests, or one, against the newest version or one that is chosen. */
function RunButton({ agentId, testId }: { agentId: string; testId?: string }) {
  const queries = useQueryClient();
  const agent = useAgent(agentId);
  const [version, setVersion] = useState<string | null>(null);
  const [iterations, setIterations] = useState<number | string>(1);
  const run = useMutation({
    mutationFn: () =>
      take(
        api.POST('/v1/agents/{agent_id}/test-runs', {
          params: { path: { agent_id: agentId } },
          body: {
            test_ids: testId === undefined ? null : [testId],
            version: version === null ? null : Number(version),
            iterations: Number(iterations) || 1,
          },
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['agent', agentId, 'test-runs'] }),
    onError: (error) => tellFailure('Not run', error),
  });
  if (testId !== undefined)
    return (
      <Button
        size="compact-sm"
        variant="default"
        leftSection={<Play size={12} />}
        loading={run.isPending}
        onClick={() => run.mutate()}
      >
        Run
      </Button>
    );
  const newest = agent.data?.version ?? 1;
  const versions = Array.from({ length: newest }, (_, index) => String(newest - index));
  return (
    <Button.Group>
      <Button leftSection={<Play size={14} />} loading={run.isPending} onClick={() => run.mutate()}>
        Run all{version === null ? '' : ` on v${version}`}
      </Button>
      <Menu position="bottom-end" closeOnItemClick={false}>
        <Menu.Target>
          <Button px={8} aria-label="How to run">
            <ChevronDown size={14} />
          </Button>
        </Menu.Target>
        <Menu.Dropdown p="sm">
          <Stack gap="xs">
            <Select
              size="xs"
              label="Version"
              placeholder={`Newest, v${newest}`}
              clearable
              searchable
              limit={100}
              value={version}
              data={versions.map((one) => ({ value: one, label: `v${one}` }))}
              comboboxProps={{ withinPortal: false }}
              onChange={setVersion}
            />
            <NumberInput
              size="xs"
              label="Times each"
              min={1}
              max={20}
              value={iterations}
              onChange={setIterations}
            />
          </Stack>
        </Menu.Dropdown>
      </Menu>
    </Button.Group>
  );
}

function Runs({ agentId, tests }: { agentId: string; tests: readonly AgentTest[] }) {
  const [open, setOpen] = useState<string | null>(null);
  const runs = usePages({
    queryKey: ['agent', agentId, 'test-runs'],
    read: (page) =>
      take(
        api.GET('/v1/agents/{agent_id}/test-runs', {
          params: { path: { agent_id: agentId }, query: page },
        }),
      ),
    everyMs: (all) => (all.some(({ status }) => RUNNING.includes(status)) ? WHILE_RUNNING_MS : false),
  });
  return (
    <Card withBorder radius="md" p="lg">
      <Title order={2} size="h4" mb="sm">
        Runs
      </Title>
      {runs.error ? (
        <ErrorMessage error={runs.error} onRetry={runs.retry} />
      ) : runs.items?.length === 0 ? (
        <Text size="sm" c="dimmed">
          No run yet.
        </Text>
      ) : (
        <ScrollArea>
          <Table miw={520} highlightOnHover>
            <Table.Tbody>
              {runs.items?.map((run) => {
                const parts = runParts(run);
                return (
                  <Table.Tr key={run.id}>
                    <Table.Td w={150}>
                      <UnstyledButton fz="sm" c="var(--mantine-color-anchor)" onClick={() => setOpen(run.id)}>
                        <Time value={run.created_at} />
                      </UnstyledButton>
                    </Table.Td>
                    <Table.Td w={70}>v{run.agent_version}</Table.Td>
                    <Table.Td w={120}>
                      <StatusBadge
                        status={
                          run.status === 'completed'
                            ? run.passed === run.total
                              ? 'passed'
                              : 'failed'
                            : run.status
                        }
                      />
                    </Table.Td>
                    <Table.Td>
                      <Progress.Root size="md" role="img" aria-label={`${run.passed} of ${run.total} passed`}>
                        <Progress.Section value={parts.passed} color="green" withAria={false} />
                        <Progress.Section value={parts.failed} color="red" withAria={false} />
                        <Progress.Section value={parts.errored} color="orange" withAria={false} />
                      </Progress.Root>
                    </Table.Td>
                    <Table.Td w={90} ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
                      {run.passed} / {run.total}
                    </Table.Td>
                  </Table.Tr>
                );
              })}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      )}
      {runs.items && <LoadMore shown={runs.items.length} {...runs} />}
      <Drawer
        opened={open !== null}
        onClose={() => setOpen(null)}
        position="right"
        size="xl"
        title="Test run"
      >
        {open !== null && <TestRun runId={open} tests={tests} />}
      </Drawer>
    </Card>
  );
}

function TestEditor({
  agentId,
  test,
  type,
  onClose,
}: {
  agentId: string;
  test: AgentTest | undefined;
  type: TestType;
  onClose: () => void;
}) {
  const { can } = useProject();
  const queries = useQueryClient();
  const description = useDescription();
  const form = useMemo(
    () => description.data && testForm(description.data.components.schemas, type),
    [description.data, type],
  );
  const base = useMemo(
    () => (test && form ? testContent(test as unknown as Json, form) : newTest(type)),
    [test, form, type],
  );
  const [changed, setChanged] = useState<unknown>(null);
  const value = changed ?? base;
  const done = async () => {
    await queries.invalidateQueries({ queryKey: ['agent', agentId, 'tests'] });
    onClose();
  };
  const save = useMutation({
    mutationFn: () =>
      test
        ? take(
            api.PATCH('/v1/tests/{test_id}', {
              params: { path: { test_id: test.id } },
              body: (patchBetween(base, value, form!) ??
                {}) as components['schemas']['PatchAgentTestRequest'],
            }),
          )
        : take(
            api.POST('/v1/agents/{agent_id}/tests', {
              params: { path: { agent_id: agentId } },
              body: value as components['schemas']['CreateAgentTestRequest'],
            }),
          ),
    onSuccess: done,
  });
  if (description.error)
    return <ErrorMessage error={description.error} onRetry={() => void description.refetch()} />;
  if (!form) return <Skeleton h={300} />;
  const faults = save.error instanceof ApiError ? save.error.fields : [];
  const errors = placeErrors(
    faults.map(({ path, message }) => ({ loc: ['body', ...path], msg: message })),
    form,
    value,
  );
  const readOnly = !can('edit');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <Stack>
        <OtherErrors errors={errors.elsewhere} />
        {save.error && faults.length === 0 && <ErrorMessage error={save.error} />}
        <FormScope
          value={value}
          errors={errors.placed}
          readOnly={readOnly}
          narrow
          change={(path, next) => setChanged(setAt(value, path, next))}
        >
          <GroupFields group={form} />
        </FormScope>
        {!readOnly && (
          <Group justify="space-between">
            {test ? (
              <ConfirmButton
                color="red"
                title={`Delete ${test.name}`}
                text="The results of its runs are kept."
                confirm="Delete"
                onConfirm={() =>
                  take(api.DELETE('/v1/tests/{test_id}', { params: { path: { test_id: test.id } } })).then(
                    done,
                  )
                }
              >
                Delete
              </ConfirmButton>
            ) : (
              <span />
            )}
            <Group gap="xs">
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={save.isPending} disabled={changed === null}>
                Save
              </Button>
            </Group>
          </Group>
        )}
      </Stack>
    </form>
  );
}
