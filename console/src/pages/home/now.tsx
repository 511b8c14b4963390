import { Alert, Anchor, Group, List, Paper, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTodayAndWeek } from '../../api/daily-statistics.ts';
import { api, take } from '../../api/client.ts';
import { useRetryFailed } from '../../api/use-retry-failed.ts';
import { useProject } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount } from '../../components/format.ts';
import { Check, CircleAlert } from '../../components/icons.ts';
import { Time } from '../../components/time.tsx';
import { FAILURE_WORDS, wordFor } from '../calls/call-words.ts';
import { OWN_FAULTS, glanceOf } from './glance.ts';

const EVERY_MS = 10_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Failures that are shown by themselves. */
const SHOWN = 5;
const HELD = ['ringing', 'in_progress', 'transferring'] as const;

/** How a project is at this moment: well or not, calls that are held, and what has failed. */
export function Now() {
  const { orgId, projectId } = useProject();
  const path = { org_id: orgId, project_id: projectId };
  const calls = useQuery({
    queryKey: ['sessions', projectId, 'now'],
    refetchInterval: EVERY_MS,
    queryFn: async () => {
      const list = (query: object) =>
        take(
          api.GET('/v1/orgs/{org_id}/projects/{project_id}/sessions', {
            params: { path, query: query as never },
          }),
        );
      // Steps of a minute: the list of a moment later is the same one.
      const since = new Date(Math.floor((Date.now() - DAY_MS) / MINUTE_MS) * MINUTE_MS).toISOString();
      const [held, failed] = await Promise.all([
        list({ limit: 1, status: HELD }),
        list({ limit: SHOWN, failure_reason: OWN_FAULTS, created_after: since }),
      ]);
      return { held: held.total ?? held.items.length, failed };
    },
  });
  const { data: statistics, error } = useTodayAndWeek();
  const retry = useRetryFailed();
  const failure = calls.error ?? error;
  if (!calls.data || !statistics)
    return failure ? <ErrorMessage error={failure} onRetry={retry} /> : <Skeleton h={112} radius="md" />;
  const { held, failed } = calls.data;
  const { isWell, title, text } = glanceOf({
    faults: failed.total ?? failed.items.length,
    today: statistics.today.sessions,
    usual: statistics.week.sessions / 7,
  });
  const list = `/projects/${projectId}/calls`;
  return (
    <section aria-label="Now">
      <Group align="stretch" gap="md">
        <Alert
          flex={{ base: '1 1 100%', sm: 1 }}
          color={isWell ? 'green' : 'red'}
          variant="light"
          icon={isWell ? <Check size={18} /> : <CircleAlert size={18} />}
          title={title}
        >
          <Stack gap="xs">
            <Text size="sm">{text}</Text>
            {failed.items.length > 0 && (
              <List size="sm" spacing={4}>
                {failed.items.map(({ session_id, created_at, failure_reason }) => (
                  <List.Item key={session_id}>
                    <Anchor
                      component={Link}
                      to={`${list}/${session_id}`}
                      size="sm"
                      underline="always"
                      c="inherit"
                    >
                      {wordFor(FAILURE_WORDS, failure_reason ?? '')}, <Time value={created_at} />
                    </Anchor>
                  </List.Item>
                ))}
              </List>
            )}
            {(failed.total ?? 0) > failed.items.length && (
              <Anchor
                component={Link}
                to={list}
                search={{ period: '24h', failure_reason: OWN_FAULTS } as never}
                size="sm"
                underline="always"
                c="inherit"
              >
                All {formatCount(failed.total ?? 0)} that failed
              </Anchor>
            )}
          </Stack>
        </Alert>
        <Paper withBorder p="md" miw={200} flex={{ base: 1, sm: '0 0 auto' }} bg="var(--parley-surface)">
          <Text size="sm" c="dimmed">
            Calls now
          </Text>
          <Text fz={28} fw={700} role="status" aria-label={`${held} calls now`}>
            {formatCount(held)}
          </Text>
          <Anchor component={Link} to={list} search={{ status: HELD } as never} size="sm" underline="always">
            Follow them
          </Anchor>
        </Paper>
      </Group>
    </section>
  );
}
