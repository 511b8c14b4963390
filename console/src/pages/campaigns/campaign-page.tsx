import { Alert, Anchor, Group, Skeleton, Stack, Tabs, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, take } from '../../api/client.ts';
import { useParam, useProject } from '../../app/project.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageError } from '../../components/page-error.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { CampaignActions } from './campaign-actions.tsx';
import { OutcomesOverTime } from './campaign-outcomes.tsx';
import { CampaignProgress } from './campaign-progress.tsx';
import { CampaignSettings } from './campaign-settings.tsx';
import { PAUSE_REASONS, isLive } from './campaign-words.ts';
import type { Campaign } from './campaign-words.ts';
import { Contacts } from './contacts.tsx';

const WHILE_LIVE_MS = 2000;

/** A campaign: how it goes, live; whom it calls; how it calls them. */
export default function CampaignPage() {
  const id = useParam('campaignId');
  const query = useQuery({
    queryKey: ['campaign', id],
    queryFn: () => take(api.GET('/v1/campaigns/{campaign_id}', { params: { path: { campaign_id: id } } })),
    refetchInterval: ({ state: { data } }) => (data && isMoving(data) ? WHILE_LIVE_MS : false),
  });
  const { data, error, refetch } = query;
  if (data) return <Shown campaign={data} />;
  return error ? <PageError error={error} onRetry={() => void refetch()} /> : <Loading />;
}

/** Whether it calls, or calls of it are under way. */
function isMoving(campaign: Campaign): boolean {
  return isLive(campaign) || campaign.counters.in_progress + campaign.counters.queued > 0;
}

function Shown({ campaign }: { campaign: Campaign }) {
  const { projectId } = useProject();
  const { status, pause_reason, start_at, started_at, finished_at } = campaign;
  return (
    <>
      <PageHeader
        title={campaign.name}
        above={
          <Anchor
            size="sm"
            renderRoot={(props) => (
              <Link {...props} to="/projects/$projectId/campaigns" params={{ projectId }} />
            )}
          >
            All campaigns
          </Anchor>
        }
        actions={<CampaignActions campaign={campaign} />}
        request={{ method: 'GET', path: `/v1/campaigns/${campaign.id}` }}
      />
      <Stack gap="lg">
        <Group gap="md">
          <StatusBadge status={status} />
          <Text size="sm" c="dimmed" component="div">
            {started_at !== null ? (
              <>
                Started <Time value={started_at} />
              </>
            ) : start_at !== null ? (
              <>
                To begin <Time value={start_at} />
              </>
            ) : (
              'Not started yet'
            )}
            {finished_at !== null && (
              <>
                , over <Time value={finished_at} />
              </>
            )}
          </Text>
        </Group>
        {status === 'paused' && pause_reason !== null && (
          <Alert color="yellow" variant="light" title="Nobody is called while it is paused" role="status">
            {PAUSE_REASONS[pause_reason]}
          </Alert>
        )}
        <CampaignProgress campaign={campaign} />
        <OutcomesOverTime campaign={campaign} isMoving={isMoving(campaign)} />
        <Tabs defaultValue="contacts" keepMounted={false}>
          <Tabs.List mb="md">
            <Tabs.Tab value="contacts">Contacts</Tabs.Tab>
            <Tabs.Tab value="settings">Settings</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="contacts">
            <Contacts campaign={campaign} />
          </Tabs.Panel>
          <Tabs.Panel value="settings">
            <CampaignSettings campaign={campaign} fallback={<Skeleton h={240} />} />
          </Tabs.Panel>
        </Tabs>
      </Stack>
    </>
  );
}
