import { Anchor, Skeleton, Stack, Table } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useOrg, useProjects } from '../../app/project.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Time } from '../../components/time.tsx';

export default function ProjectsPage() {
  const { orgId, orgName } = useOrg();
  const { data, error, refetch } = useProjects(orgId);
  return (
    <>
      <PageHeader
        title="Projects"
        text={`What ${orgName} keeps apart: agents, numbers, calls and keys.`}
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
        <EmptyState title="No project yet" text="A project holds agents, numbers, calls and keys." />
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
    </>
  );
}
