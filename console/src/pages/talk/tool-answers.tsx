import { Group, Paper, SegmentedControl, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { useChoices } from '../../components/schema-form/references.ts';
import type { MockDraft } from './mock-drafts.ts';

const MAX_LENGTH = 2000;

/** Answers that tools of an agent are to give in a conversation, without being called. Nothing where it has no tools. */
export function ToolAnswers({
  agentId,
  drafts,
  onChange,
}: {
  agentId: string;
  /** By tool; those without one are called. */
  drafts: Readonly<Record<string, MockDraft>>;
  onChange: (next: Readonly<Record<string, MockDraft>>) => void;
}) {
  const links = useQuery({
    queryKey: ['agent', agentId, 'enabled-tools'],
    queryFn: async () => {
      const { items } = await take(
        api.GET('/v1/agents/{agent_id}/tools', { params: { path: { agent_id: agentId } } }),
      );
      return items.filter(({ enabled }) => enabled).map(({ tool_id }) => tool_id);
    },
  });
  const names = useChoices('tool');
  if (links.error) return <ErrorMessage error={links.error} onRetry={() => void links.refetch()} />;
  if (!links.data || links.data.length === 0) return null;
  const { data: tools } = links;
  return (
    <Paper withBorder p="md">
      <Text fw={600} size="sm">
        Answers of tools
      </Text>
      <Text size="xs" c="dimmed" mb="xs">
        A tool that is mocked is not called: the agent gets this answer, whatever its arguments are.
      </Text>
      <Stack gap="sm">
        {tools.map((id) => {
          const name = names.find(({ value }) => value === id)?.label ?? id;
          const draft = drafts[id];
          const { [id]: _, ...others } = drafts;
          const set = (change: Partial<MockDraft>) =>
            onChange({ ...drafts, [id]: { fails: false, text: '', ...draft, ...change } });
          return (
            <div key={id}>
              <Group gap="md">
                <Switch
                  size="sm"
                  label={`Mock ${name}`}
                  checked={draft !== undefined}
                  onChange={(event) => (event.currentTarget.checked ? set({}) : onChange(others))}
                />
                {draft && (
                  <SegmentedControl
                    size="xs"
                    aria-label={`What ${name} does`}
                    data={[
                      { value: 'answers', label: 'Answers' },
                      { value: 'fails', label: 'Fails' },
                    ]}
                    value={draft.fails ? 'fails' : 'answers'}
                    onChange={(value) => set({ fails: value === 'fails' })}
                  />
                )}
              </Group>
              {draft && (
                <Textarea
                  mt={6}
                  autosize
                  minRows={1}
                  maxRows={8}
                  maxLength={MAX_LENGTH}
                  aria-label={draft.fails ? `Why ${name} fails` : `Answer of ${name}`}
                  placeholder={draft.fails ? 'Why it fails' : 'JSON, or text'}
                  value={draft.text}
                  onChange={(event) => set({ text: event.currentTarget.value })}
                />
              )}
            </div>
          );
        })}
      </Stack>
    </Paper>
  );
}
