import { Card, Group, Stack, Switch, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api, take } from '../../api/client.ts';
import { useOrg } from '../../app/project.ts';
import { ErrorMessage } from '../../components/error-message.tsx';
import { inWords } from '../../components/format.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryContent } from '../../components/query-content.tsx';

export default function FeatureFlagsPage() {
  const { orgId, can } = useOrg();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ['feature-flags', orgId],
    queryFn: () => take(api.GET('/v1/orgs/{org_id}/feature-flags', { params: { path: { org_id: orgId } } })),
  });
  const set = useMutation({
    mutationFn: ({ key, enabled }: { key: string; enabled: boolean }) =>
      take(
        api.PUT('/v1/orgs/{org_id}/feature-flags/{key}', {
          params: { path: { org_id: orgId, key: key as never } },
          body: { enabled },
        }),
      ),
    onSettled: () => queries.invalidateQueries({ queryKey: ['feature-flags', orgId] }),
  });
  return (
    <>
      <PageHeader
        title="Features"
        text="What the organisation uses. What is switched off is refused by the API."
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/feature-flags` }}
      />
      <Stack maw={720}>
        {set.error && <ErrorMessage error={set.error} />}
        <QueryContent query={query}>
          {({ items }) =>
            items.map(({ key, enabled, description }) => (
              <Card key={key} withBorder padding="md" bg="var(--parley-surface)">
                <Group justify="space-between" wrap="nowrap">
                  <div>
                    <Text fw={600} size="sm" id={`flag-${key}`}>
                      {inWords(key)}
                    </Text>
                    <Text c="dimmed" size="sm">
                      {description}
                    </Text>
                  </div>
                  <Switch
                    aria-labelledby={`flag-${key}`}
                    checked={enabled}
                    disabled={!can('own') || set.isPending}
                    onChange={(event) => set.mutate({ key, enabled: event.currentTarget.checked })}
                  />
                </Group>
              </Card>
            ))
          }
        </QueryContent>
      </Stack>
    </>
  );
}
