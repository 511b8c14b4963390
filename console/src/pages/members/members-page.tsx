import { Button, Card, ScrollArea, Select, Stack, Table, TextInput, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { usePages } from '../../api/use-pages.ts';
import { useOrg, useProfile } from '../../app/project.ts';
import { roleAtLeast } from '../../app/roles.ts';
import type { Role } from '../../app/roles.ts';
import { confirmColumn, statusColumn, timeColumn } from '../../components/columns.tsx';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { DataColumn } from '../../components/data-table.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { Loading } from '../../components/loading.tsx';
import { PageHeader } from '../../components/page-header.tsx';

type Member = components['schemas']['Member'];
type Invite = components['schemas']['Invite'];

const ROLES: readonly { value: Role; label: string }[] = [
  { value: 'viewer', label: 'Viewer: sees everything' },
  { value: 'editor', label: 'Editor: also places calls and changes records' },
  { value: 'admin', label: 'Admin: also members, keys and credentials' },
  { value: 'owner', label: 'Owner: also the organisation itself' },
];

/** What each role may do, besides what the roles before it may. */
const MAY: Readonly<Record<Role, string>> = {
  viewer: 'Sees calls, agents, campaigns, figures and settings, hears recordings, exports. Changes nothing.',
  editor:
    'Makes and changes agents, flows, tests, campaigns and other records; publishes; talks to agents; takes live calls over and ends them.',
  admin:
    'Invites and removes members, makes API keys, adds accounts at carriers and providers, buys numbers, changes the organisation, its projects and limits, erases calls, reads the audit trail.',
  owner: 'Switches features on and off, and makes others owners.',
};

export default function MembersPage() {
  const { orgId, role: own, can } = useOrg();
  const { user_id } = useProfile();
  const queries = useQueryClient();
  const path = { org_id: orgId };
  const members = usePages({
    queryKey: ['members', orgId],
    read: (page) => take(api.GET('/v1/orgs/{org_id}/members', { params: { path, query: page } })),
  });
  const invites = usePages({
    queryKey: ['invites', orgId],
    enabled: can('administer'),
    read: (page) => take(api.GET('/v1/orgs/{org_id}/invites', { params: { path, query: page } })),
  });
  const changed = () =>
    Promise.all(['members', 'invites'].map((key) => queries.invalidateQueries({ queryKey: [key, orgId] })));
  const [opened, dialog] = useDisclosure(false);
  const [email, setEmail] = useState('');
  const close = () => {
    dialog.close();
    setEmail('');
  };
  const [role, setRole] = useState<Role>('viewer');
  const [error, setError] = useState<unknown>();
  const given = ROLES.filter(({ value }) => roleAtLeast(own, value));

  async function invite() {
    await take(
      api.POST('/v1/orgs/{org_id}/invites', { params: { path }, body: { email: email.trim(), role } }),
    );
    await changed();
  }
  async function setRoleOf(member: Member, next: Role) {
    setError(undefined);
    try {
      await take(
        api.PATCH('/v1/members/{member_id}', {
          params: { path: { member_id: member.id } },
          body: { role: next },
        }),
      );
    } catch (reason) {
      setError(reason);
    }
    await changed();
  }
  async function remove(id: string) {
    await take(api.DELETE('/v1/members/{member_id}', { params: { path: { member_id: id } } }));
    await changed();
  }
  async function withdraw(id: string) {
    await take(api.DELETE('/v1/invites/{invite_id}', { params: { path: { invite_id: id } } }));
    await changed();
  }
  const changes = (member: Member) =>
    can('administer') && member.user_id !== user_id && roleAtLeast(own, member.role);

  const columns: DataColumn<Member>[] = [
    { id: 'name', title: 'Name', cell: ({ name }) => name, width: 'minmax(150px, 1fr)' },
    { id: 'email', title: 'E-mail', cell: ({ email }) => email, width: 'minmax(190px, 1fr)' },
    {
      id: 'role',
      title: 'Role',
      width: '150px',
      cell: (member) =>
        changes(member) ? (
          <Select
            size="xs"
            aria-label={`Role of ${member.name}`}
            data={given.map(({ value }) => value)}
            value={member.role}
            allowDeselect={false}
            onChange={(value) => void setRoleOf(member, value as Role)}
          />
        ) : (
          member.role
        ),
    },
    statusColumn(),
    timeColumn('Last seen', ({ last_seen_at }) => last_seen_at, 'never'),
    confirmColumn({
      verb: 'Remove',
      offered: changes,
      title: ({ name }) => `Remove ${name}?`,
      text: () => 'They are out of the organisation with their next request.',
      onConfirm: ({ id }) => remove(id),
    }),
  ];
  const inviteColumns: DataColumn<Invite>[] = [
    { id: 'email', title: 'E-mail', cell: ({ email }) => email, width: 'minmax(190px, 1fr)' },
    { id: 'role', title: 'Role', cell: ({ role }) => role, width: '90px' },
    statusColumn(),
    timeColumn('Good until', ({ expires_at }) => expires_at),
    confirmColumn({
      verb: 'Withdraw',
      offered: ({ status }) => status === 'pending',
      title: () => 'Withdraw the invite?',
      text: ({ email }) => `The link that was mailed to ${email} lets nobody in any more.`,
      onConfirm: ({ id }) => withdraw(id),
    }),
  ];
  return (
    <>
      <PageHeader
        title="Members"
        text="Who works in this organisation, and what each may do. A role may do all that the ones before it may."
        actions={
          <>
            <CopyCurl request={{ method: 'GET', path: `/v1/orgs/${orgId}/members` }} />
            {can('administer') && <Button onClick={dialog.open}>Invite</Button>}
          </>
        }
      />
      <Stack>
        {error !== undefined && <ErrorMessage error={error} />}
        {members.error ? (
          <ErrorMessage error={members.error} onRetry={members.retry} />
        ) : !members.items ? (
          <Loading height="20vh" />
        ) : (
          <DataTable
            label="Members"
            rows={members.items}
            columns={columns}
            rowKey={({ id }) => id}
            rowHeight={48}
            hasMore={members.hasMore}
            loadingMore={members.loadingMore}
            onLoadMore={members.loadMore}
          />
        )}
        {invites.error && <ErrorMessage error={invites.error} onRetry={invites.retry} />}
        {can('administer') && invites.items !== undefined && invites.items.length > 0 && (
          <>
            <Title order={2} size="h4" mt="md">
              Invites
            </Title>
            <DataTable
              label="Invites"
              rows={invites.items}
              columns={inviteColumns}
              rowKey={({ id }) => id}
              hasMore={invites.hasMore}
              loadingMore={invites.loadingMore}
              onLoadMore={invites.loadMore}
            />
          </>
        )}
        <Roles />
      </Stack>
      <FormDialog title="Invite somebody" opened={opened} onClose={close} submit="Invite" onSubmit={invite}>
        <TextInput
          label="E-mail"
          type="email"
          description="A link is mailed there, good for seven days"
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
          data-autofocus
        />
        <Select
          label="Role"
          data={given}
          value={role}
          allowDeselect={false}
          onChange={(value) => setRole(value as Role)}
        />
      </FormDialog>
    </>
  );
}

function Roles() {
  return (
    <section aria-labelledby="roles">
      <Title order={2} size="h4" mt="md" mb="sm" id="roles">
        What each role may do
      </Title>
      <Card withBorder radius="md" p={0} maw={820}>
        <ScrollArea>
          <Table verticalSpacing="sm">
            <Table.Tbody>
              {ROLES.map(({ value, label }, at) => (
                <Table.Tr key={value}>
                  <Table.Th scope="row" w={100} style={{ verticalAlign: 'top' }}>
                    {label.split(':')[0]}
                  </Table.Th>
                  <Table.Td>
                    {MAY[value]}
                    {at > 0 && ' And all that the roles above may.'}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </ScrollArea>
      </Card>
    </section>
  );
}
