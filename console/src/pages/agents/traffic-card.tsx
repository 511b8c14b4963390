import {
  ActionIcon,
  Alert,
  Button,
  Card,
  Group,
  SegmentedControl,
  Select,
  Slider,
  Stack,
  Switch,
  Text,
  Title,
} from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { useProject } from '../../app/project.ts';
import { Plus, Trash2 } from '../../components/build-icons.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { failureText } from '../../components/tell-failure.ts';
import { Results } from './traffic-results.tsx';
import { usePublish } from './use-agent-editor.ts';
import type { Traffic } from './use-agent-editor.ts';
import { withWeight } from './version-diff.ts';
import type { Version } from './version-table.tsx';

const MOST_ARMS = 4;

/** The rule that gives new calls a version, and what came of each. */
export function TrafficCard({
  agentId,
  versions,
  traffic,
}: {
  agentId: string;
  versions: readonly Version[];
  traffic: Traffic;
}) {
  const { can, projectId } = useProject();
  const publish = usePublish(agentId);
  const newest = versions[0]?.version ?? 1;
  const [draft, setDraft] = useState<Traffic>(traffic);
  const readOnly = !can('edit');
  const isChanged = JSON.stringify(draft) !== JSON.stringify(traffic);
  const unused = versions.filter(({ version }) => !draft.splits.some((split) => split.version === version));
  const weights = draft.splits.map(({ weight }) => weight);
  const setWeight = (index: number, weight: number) => {
    const next = withWeight(weights, index, weight);
    setDraft({ ...draft, splits: draft.splits.map((split, at) => ({ ...split, weight: next[at]! })) });
  };
  const add = (version: number) => {
    const splits = [...draft.splits, { version, weight: 1 }];
    const next = withWeight(
      splits.map(({ weight }) => weight),
      splits.length - 1,
      Math.round(100 / splits.length),
    );
    setDraft({ ...draft, splits: splits.map((split, at) => ({ ...split, weight: next[at]! })) });
  };
  const remove = (index: number) => {
    const splits = draft.splits.filter((_, at) => at !== index);
    const next = withWeight(
      splits.map(({ weight }) => weight),
      0,
      (splits[0]?.weight ?? 0) + draft.splits[index]!.weight / splits.length,
    );
    setDraft({ ...draft, splits: splits.map((split, at) => ({ ...split, weight: next[at]! })) });
  };
  const untested =
    publish.error instanceof ApiError && publish.error.status === 409 && draft.require_passed_tests
      ? failureText(publish.error)
      : undefined;
  return (
    <Card withBorder radius="md" p="lg">
      <Group justify="space-between" align="flex-start" mb="md">
        <div>
          <Title order={2} size="h4">
            Traffic
          </Title>
          <Text size="sm" c="dimmed">
            Which version new calls get. A caller keeps theirs as long as the rule stays.
          </Text>
        </div>
        <SegmentedControl
          size="xs"
          disabled={readOnly}
          value={draft.mode}
          aria-label="Traffic"
          data={[
            { value: 'latest', label: 'Always the newest' },
            { value: 'pinned', label: 'Chosen versions' },
          ]}
          onChange={(mode) =>
            setDraft({
              ...draft,
              mode: mode === 'pinned' ? 'pinned' : 'latest',
              splits:
                mode === 'pinned'
                  ? traffic.splits.length > 0
                    ? traffic.splits
                    : [{ version: newest, weight: 100 }]
                  : [],
            })
          }
        />
      </Group>
      <Stack gap="sm">
        {draft.splits.map(({ version, weight }, index) => (
          <Group key={version} wrap="nowrap" gap="md">
            <Text fw={600} size="sm" w={48}>
              v{version}
            </Text>
            <Slider
              flex={1}
              min={1}
              max={100}
              value={weight}
              label={(value) => `${value} %`}
              disabled={readOnly || draft.splits.length === 1}
              thumbLabel={`Share of version ${version}`}
              onChange={(value) => setWeight(index, value)}
            />
            <Text size="sm" w={52} ta="right" style={{ fontVariantNumeric: 'tabular-nums' }}>
              {weight} %
            </Text>
            <ActionIcon
              variant="subtle"
              color="gray"
              disabled={readOnly || draft.splits.length === 1}
              aria-label={`Take version ${version} out`}
              onClick={() => remove(index)}
            >
              <Trash2 size={14} />
            </ActionIcon>
          </Group>
        ))}
        {draft.mode === 'pinned' && (
          <Group justify="space-between">
            {draft.splits.length < MOST_ARMS && unused.length > 0 && !readOnly ? (
              <Select
                size="xs"
                w={200}
                placeholder="Add a version"
                aria-label="Add a version"
                leftSection={<Plus size={14} />}
                searchable
                limit={100}
                value={null}
                data={unused.map(({ version, label }) => ({
                  value: String(version),
                  label: label === null ? `v${version}` : `v${version} · ${label}`,
                }))}
                onChange={(version) => version !== null && add(Number(version))}
              />
            ) : (
              <span />
            )}
            <Switch
              label="Only versions that passed their tests"
              checked={draft.require_passed_tests}
              disabled={readOnly}
              onChange={(event) => setDraft({ ...draft, require_passed_tests: event.currentTarget.checked })}
            />
          </Group>
        )}
        {untested !== undefined ? (
          <Alert color="red" variant="light" title="Not published">
            <Text size="sm">
              {untested}{' '}
              <Link to="/projects/$projectId/agents/$agentId/tests" params={{ projectId, agentId }}>
                Run the tests
              </Link>
            </Text>
          </Alert>
        ) : (
          publish.error && <ErrorMessage error={publish.error} />
        )}
        {isChanged && (
          <Group justify="flex-end">
            <Button variant="default" onClick={() => setDraft(traffic)}>
              Discard
            </Button>
            <Button
              loading={publish.isPending}
              onClick={() =>
                publish.mutate(draft, {
                  onSuccess: () =>
                    notifications.show({ color: 'green', message: 'New calls follow the new rule.' }),
                })
              }
            >
              Publish
            </Button>
          </Group>
        )}
      </Stack>
      <Results agentId={agentId} />
    </Card>
  );
}
