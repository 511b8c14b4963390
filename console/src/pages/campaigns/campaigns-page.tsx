import { Anchor, Button, Card, Group, ScrollArea, Skeleton, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { usePages } from '../../api/use-pages.ts';
import { useProject } from '../../app/project.ts';
import { Megaphone, Plus, Search } from '../../components/build-icons.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { formatCount } from '../../components/format.ts';
import { LoadMore } from '../../components/load-more.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { useChoices } from '../../components/schema-form/references.ts';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Time } from '../../components/time.tsx';
import { CampaignBar } from './campaign-progress.tsx';
import { finishedOf } from './campaign-words.ts';
import type { Campaign } from './campaign-words.ts';

const WHAT = 'A list of people whom an agent calls, at your pace and within your hours.';
const EVERY_MS = 5000;

export default function CampaignsPage() {
  const { orgId, projectId, can } = useProject();
  const [typed, setTyped] = useState('');
  const [q] = useDebouncedValue(typed.trim(), 200);
  const path = { org_id: orgId, project_id: projectId };
  const list = usePages({
    queryKey: ['campaigns', projectId, q],
    read: (page) =>
      take(
        api.GET('/v1/orgs/{org_id}/projects/{project_id}/campaigns', {
          params: { path, query: { ...page, ...(q !== '' && { q }) } },
        }),
      ),
    everyMs: EVERY_MS,
  });
  const { items } = list;
  const add = can('edit') && (
    <Button
      leftSection={<Plus size={16} />}
      renderRoot={(props) => (
        <Link {...props} to="/projects/$projectId/campaigns/new" params={{ projectId }} />
      )}
    >
      New campaign
    </Button>
  );
  return (
    <>
      <PageHeader
        title="Campaigns"
        text={WHAT}
        actions={add}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/projects/${projectId}/campaigns` }}
      />
      <TextInput
        mb="md"
        maw={360}
        leftSection={<Search size={16} />}
        placeholder="Search by name"
        aria-label="Search campaigns"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {list.error ? (
        <ErrorMessage error={list.error} onRetry={list.retry} />
      ) : items?.length === 0 ? (
        q !== '' ? (
          <EmptyState icon={Search} title="Nothing found" text="No campaign has such a name." />
        ) : (
          <EmptyState icon={Megaphone} title="No campaign yet" text={WHAT} action={add} />
        )
      ) : (
        <Card withBorder radius="md" p={0}>
          <ScrollArea>
            <Table miw={760} highlightOnHover verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th miw={180}>Name</Table.Th>
                  <Table.Th w={150}>Status</Table.Th>
                  <Table.Th w={240}>Contacts done with</Table.Th>
                  <Table.Th>Agent</Table.Th>
                  <Table.Th w={150}>Started</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items?.map((campaign) => <Row key={campaign.id} campaign={campaign} />) ?? (
                  <Table.Tr>
                    <Table.Td colSpan={5}>
                      <Skeleton h={28} />
                    </Table.Td>
                  </Table.Tr>
                )}
              </Table.Tbody>
            </Table>
          </ScrollArea>
          <LoadMore shown={items?.length ?? 0} {...list} />
        </Card>
      )}
    </>
  );
}

function Row({ campaign }: { campaign: Campaign }) {
  const { projectId } = useProject();
  const agents = useChoices('agent');
  const { counters } = campaign;
  return (
    <Table.Tr>
      <Table.Td maw={360}>
        <Anchor
          fw={600}
          c="inherit"
          size="sm"
          style={{ overflowWrap: 'anywhere' }}
          renderRoot={(props) => (
            <Link
              {...props}
              to="/projects/$projectId/campaigns/$campaignId"
              params={{ projectId, campaignId: campaign.id }}
            />
          )}
        >
          {campaign.name}
        </Anchor>
      </Table.Td>
      <Table.Td>
        <StatusBadge status={campaign.status} />
      </Table.Td>
      <Table.Td>
        <Group gap="sm" wrap="nowrap">
          <div style={{ flex: 1, minWidth: 60 }}>
            <CampaignBar counters={counters} size="sm" />
          </div>
          <Text size="xs" c="dimmed" style={{ fontVariantNumeric: 'tabular-nums' }}>
            {formatCount(finishedOf(counters))} of {formatCount(counters.total)}
          </Text>
        </Group>
      </Table.Td>
      <Table.Td maw={260}>
        <Text size="sm" truncate>
          {agents.find(({ value }) => value === campaign.agent_id)?.label ?? campaign.agent_id}
        </Text>
      </Table.Td>
      <Table.Td>
        <Time value={campaign.started_at} />
      </Table.Td>
    </Table.Tr>
  );
}
