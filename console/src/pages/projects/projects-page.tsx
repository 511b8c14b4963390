import { Anchor, Button, Skeleton, Stack, Table, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { api, take } from '../../api/client.ts';
import { useOrg, useProjects } from '../../app/project.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Time } from '../../components/time.tsx';

export default function ProjectsPage() {
  const { orgId, orgName, can } = useOrg();
  const queries = useQueryClient();
  const [opened, dialog] = useDisclosure(false);
  const [name, setName] = useState('');
  const close = () => {
    dialog.close();
    setName('');
  };
  async function create() {
    await take(
      api.POST('/v1/orgs/{org_id}/projects', {
        params: { path: { org_id: orgId } },
        body: { name: name.trim() },
      }),
    );
    await queries.invalidateQueries({ queryKey: ['projects', orgId] });
  }
  const add = can('administer') && <Button onClick={dialog.open}>New project</Button>;
  const { data, error, refetch } = useProjects(orgId);
  return (
    <>
      <PageHeader
        title="Projects"
        text={`What ${orgName} keeps apart: agents, numbers, calls and keys.`}
        actions={add}
        request={{ method: 'GET', path: `/v1/orgs/${orgId}/projects` }}
      />
      {error ? (
        <ErrorMessage error={error} onRetry={() => void refetch()} />
      ) : !data ? (
        <Stack>
          <Skeleton h={40} />
          <Skeleton h={40} />
        </Stack>
      ) : data.items.length === 0 ? (
        <EmptyState
          title="No project yet"
          text="A project holds agents, numbers, calls and keys."
          action={add}
        />
      ) : (
        <Table.ScrollContainer minWidth={420}>
          <Table highlightOnHover>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Name</Table.Th>
                <Table.Th>Timezone</Table.Th>
                <Table.Th>Created</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {data.items.map((project) => (
                <Table.Tr key={project.id}>
                  <Table.Td>
                    <Anchor component={Link} to={`/projects/${project.id}/home`} fw={600}>
                      {project.name}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>{project.timezone ?? 'UTC'}</Table.Td>
                  <Table.Td>
                    <Time value={project.created_at} form="date" />
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
      <FormDialog title="New project" submit="Create" opened={opened} onClose={close} onSubmit={create}>
        <TextInput
          label="Name"
          maxLength={120}
          data-autofocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
      </FormDialog>
    </>
  );
}
