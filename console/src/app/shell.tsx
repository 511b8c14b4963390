import { AppShell, Burger, Group, ScrollArea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation, useMatches, useParams, useRouter } from '@tanstack/react-router';
import { useEffect, useState, useSyncExternalStore } from 'react';
import { doneRequests } from '../api/done-requests.ts';
import { reachability } from '../api/reachability.ts';
import { renew, session } from '../api/session.ts';
import { EmptyState } from '../components/empty-state.tsx';
import { Loading } from '../components/loading.tsx';
import { OutdatedNotice } from '../components/outdated-notice.tsx';
import { PageError } from '../components/page-error.tsx';
import { Brand } from './brand.tsx';
import { ConnectionNotice } from './connection-notice.tsx';
import { GoTo } from './go-to.tsx';
import { Navigation } from './navigation.tsx';
import { NotFound } from './not-found.tsx';
import { PAGES } from './pages.ts';
import {
  ProfileValue,
  ProjectValue,
  lastProject,
  profileQuery,
  projectQuery,
  useOrg,
  useProfile,
} from './project.ts';
import type { ProjectContext } from './project.ts';
import { ProjectSwitch } from './project-switch.tsx';
import { queryClient } from './query-client.ts';
import { may, roleAtLeast } from './roles.ts';
import { SignInAgain } from './sign-in-again.tsx';
import { Starting } from './starting.tsx';
import { UserMenu } from './user-menu.tsx';

/** The frame of every page behind the sign-in: who is here, where they are, where they may go. */
export function Shell() {
  const state = useSyncExternalStore(session.subscribe, () => session.state);
  const [error, setError] = useState<unknown>();
  const router = useRouter();
  useEffect(() => {
    if (state === 'unknown') {
      const look = () => renew().catch(setError);
      void look();
      return reachability.subscribe(() => reachability.isReachable && void look());
    }
    if (state !== 'out') return;
    // The next person is not to see what this one saw.
    queryClient.clear();
    doneRequests.clear();
    void router.navigate({ to: '/sign-in', search: { to: router.state.location.href }, replace: true });
  }, [state, router]);
  if (state === 'in' || state === 'expired')
    return (
      <>
        <Signed />
        {state === 'expired' && <SignInAgain />}
      </>
    );
  return <Starting error={error} onRetry={() => location.reload()} />;
}

function Signed() {
  const { data, error, refetch } = useQuery(profileQuery);
  if (!data) return <Starting error={error} onRetry={() => void refetch()} />;
  return (
    <ProfileValue value={data}>
      <Frame />
    </ProfileValue>
  );
}

function Frame() {
  const [opened, menu] = useDisclosure(false);
  const { pathname } = useLocation();
  const { close } = menu;
  useEffect(() => close(), [pathname, close]);
  const project = useProjectOfAddress();
  return (
    <ProjectValue value={project.value}>
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell
        layout="alt"
        header={{ height: { base: 52, sm: 0 } }}
        navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding={{ base: 'md', md: 'xl' }}
      >
        <AppShell.Header bg="var(--parley-ground)" withBorder={false} px="md" hiddenFrom="sm">
          <Group h="100%" gap="sm">
            <Burger opened={opened} onClick={menu.toggle} size="sm" aria-label="Navigation" />
            <Brand />
          </Group>
        </AppShell.Header>
        <AppShell.Navbar bg="var(--parley-surface)" p="sm" style={{ borderColor: 'var(--parley-line)' }}>
          <Group justify="space-between" px={6} pb="sm" wrap="nowrap">
            <Brand />
            <Burger opened={opened} onClick={menu.toggle} size="sm" aria-label="Close" hiddenFrom="sm" />
          </Group>
          <ProjectSwitch />
          <GoTo />
          <ScrollArea style={{ flex: 1 }} mt="sm" type="scroll">
            <Navigation />
          </ScrollArea>
          <UserMenu />
        </AppShell.Navbar>
        <AppShell.Main id="content" tabIndex={-1} style={{ outline: 'none' }}>
          <div style={{ maxWidth: 1440, marginInline: 'auto' }}>
            <ConnectionNotice />
            <OutdatedNotice />
            {project.error ? (
              <PageError error={project.error} onRetry={project.retry} />
            ) : project.loading ? (
              <Loading height="40vh" />
            ) : (
              <PageOfAddress />
            )}
          </div>
        </AppShell.Main>
      </AppShell>
    </ProjectValue>
  );
}

/** The page, to whom it is for. */
function PageOfAddress() {
  const { orgId } = useParams({ strict: false });
  const { memberships } = useProfile();
  const { role } = useOrg();
  const path = useMatches().at(-1)?.fullPath as string | undefined;
  const least = PAGES.find((page) => page.path === path)?.role ?? 'viewer';
  if (orgId !== undefined && !memberships.some(({ org_id }) => org_id === orgId)) return <NotFound />;
  if (!roleAtLeast(role, least))
    return (
      <EmptyState
        title="Your role does not allow this"
        text={`This page needs the role ${least}; you are ${role}. Ask somebody who administers the organisation.`}
      />
    );
  return <Outlet />;
}

/** The project that the address names. */
function useProjectOfAddress(): {
  value: ProjectContext | null;
  loading: boolean;
  error: unknown;
  retry: () => void;
} {
  const { projectId } = useParams({ strict: false });
  const { memberships, timezone } = useProfile();
  const { data, error, refetch } = useQuery({
    ...projectQuery(projectId ?? ''),
    enabled: projectId !== undefined,
  });
  const id = data?.archived_at == null ? data?.id : null;
  useEffect(() => {
    if (id != null) lastProject.set(id);
    // One that is archived or gone, or of another person on this machine.
    else if (id === null || error) lastProject.forget();
  }, [id, error]);
  const retry = () => void refetch();
  if (projectId === undefined) return { value: null, loading: false, error: null, retry };
  if (!data) return { value: null, loading: !error, error, retry };
  const role = memberships.find(({ org_id }) => org_id === data.org_id)?.role ?? 'viewer';
  const value: ProjectContext = {
    orgId: data.org_id,
    projectId: data.id,
    projectName: data.name,
    timezone: data.timezone ?? timezone,
    role,
    can: (action) => may(role, action),
  };
  return { value, loading: false, error: null, retry };
}
