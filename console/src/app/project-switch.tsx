import { Button, Menu, Text, VisuallyHidden } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useContext } from 'react';
import { Building2, Check, ChevronsUpDown } from '../components/icons.ts';
import { ProjectValue, useOrg, useProfile, useProjects } from './project.ts';

/** The project at hand, and the way to the others of all the person's orgs. */
export function ProjectSwitch() {
  const project = useContext(ProjectValue);
  const { orgName } = useOrg();
  const { memberships } = useProfile();
  return (
    <Menu width={264} position="bottom-start" shadow="md">
      <Menu.Target>
        <Button
          variant="default"
          fullWidth
          justify="space-between"
          rightSection={<ChevronsUpDown size={15} aria-hidden />}
          h={48}
          px="sm"
        >
          <span style={{ display: 'block', minWidth: 0, textAlign: 'start' }}>
            <Text span display="block" size="sm" fw={600} truncate>
              <VisuallyHidden>Project: </VisuallyHidden>
              {project?.projectName ?? 'Choose a project'}
            </Text>
            <Text span display="block" size="xs" c="dimmed" truncate>
              {orgName}
            </Text>
          </span>
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah="60vh" style={{ overflowY: 'auto' }}>
        {memberships.map(({ org_id, org_name }) => (
          <OrgProjects key={org_id} orgId={org_id} name={org_name} current={project?.projectId} />
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function OrgProjects({ orgId, name, current }: { orgId: string; name: string; current: string | undefined }) {
  const { data } = useProjects(orgId);
  const navigate = useNavigate();
  return (
    <>
      <Menu.Label>{name}</Menu.Label>
      {data?.items.map((project) => (
        <Menu.Item
          key={project.id}
          rightSection={project.id === current && <Check size={15} aria-label="open" />}
          onClick={() => void navigate({ to: `/projects/${project.id}/home` })}
        >
          {project.name}
        </Menu.Item>
      ))}
      <Menu.Item
        leftSection={<Building2 size={15} aria-hidden />}
        onClick={() => void navigate({ to: `/orgs/${orgId}/projects` })}
      >
        All projects
      </Menu.Item>
    </>
  );
}
