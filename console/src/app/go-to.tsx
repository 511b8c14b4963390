import { Button, Kbd } from '@mantine/core';
import { Spotlight, spotlight } from '@mantine/spotlight';
import { useNavigate } from '@tanstack/react-router';
import { useContext } from 'react';
import { Search } from '../components/icons.ts';
import { addressOf, offered } from './navigation-links.ts';
import { PAGES } from './pages.ts';
import { ProjectValue, lastProject, useOrg, useProfile, useProjects } from './project.ts';

/** Ctrl-K: any page, and any project, by a few letters of its name. */
export function GoTo() {
  const project = useContext(ProjectValue);
  const { memberships } = useProfile();
  const { orgId, role } = useOrg();
  const navigate = useNavigate();
  const projects = useProjects(orgId || (memberships[0]?.org_id ?? ''));
  const ids = { projectId: project?.projectId ?? lastProject.get() ?? undefined, orgId: orgId || undefined };
  const pages = PAGES.filter((page) => page.group !== undefined && offered(page, role, ids));
  return (
    <>
      <Button
        variant="default"
        size="compact-md"
        fullWidth
        styles={{ label: { flex: 1 } }}
        leftSection={<Search size={15} aria-hidden />}
        rightSection={<Kbd size="xs">Ctrl K</Kbd>}
        onClick={spotlight.open}
        mt="xs"
        fw={500}
      >
        Go to
      </Button>
      <Spotlight
        shortcut={['mod + K']}
        nothingFound="Nothing has this name"
        highlightQuery
        limit={12}
        searchProps={{ placeholder: 'Go to a page or project', 'aria-label': 'Go to a page or project' }}
        actions={[
          {
            group: 'Pages',
            actions: pages.map((page) => ({
              id: page.path,
              label: page.title,
              leftSection: page.icon && <page.icon size={17} aria-hidden />,
              onClick: () => void navigate({ to: addressOf(page, ids) }),
            })),
          },
          {
            group: 'Projects',
            actions: (projects.data?.items ?? []).map(({ id, name }) => ({
              id,
              label: name,
              onClick: () => void navigate({ to: `/projects/${id}/home` }),
            })),
          },
        ]}
      />
    </>
  );
}
