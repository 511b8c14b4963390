import { createContext, useContext } from 'react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { api, take } from '../api/client.ts';
import { readAll } from '../api/list-pages.ts';
import type { components } from '../api/schema.d.ts';
import { may } from './roles.ts';
import type { Action, Role } from './roles.ts';

export type Profile = components['schemas']['Profile'];
export type Project = components['schemas']['Project'];

/** The org and project that a page is about, and what the person may do there. */
export interface ProjectContext {
  orgId: string;
  projectId: string;
  projectName: string;
  /** IANA timezone of the project; the person's own where it has none. */
  timezone: string;
  role: Role;
  can(action: Action): boolean;
}

export const profileQuery = queryOptions({
  queryKey: ['profile'],
  queryFn: () => take(api.GET('/auth/v1/profile')),
});

export function projectQuery(projectId: string) {
  return queryOptions({
    queryKey: ['project', projectId],
    queryFn: () =>
      take(api.GET('/v1/projects/{project_id}', { params: { path: { project_id: projectId } } })),
  });
}

export const ProfileValue = createContext<Profile | null>(null);
export const ProjectValue = createContext<ProjectContext | null>(null);

/** The person who is signed in. */
export function useProfile(): Profile {
  const profile = useContext(ProfileValue);
  if (!profile) throw new Error('There is no profile outside the shell.');
  return profile;
}

/** The project of the page's address, `/projects/$projectId/…`. */
export function useProject(): ProjectContext {
  const project = useContext(ProjectValue);
  if (!project) throw new Error('This page has no project in its address.');
  return project;
}

/** The org of the page's address, `/orgs/$orgId/…`, or that of its project. */
export function useOrg(): { orgId: string; orgName: string; role: Role; can(action: Action): boolean } {
  const { memberships } = useProfile();
  const project = useContext(ProjectValue);
  const { orgId } = useParams({ strict: false });
  const wanted = project?.orgId ?? orgId;
  const member = memberships.find(({ org_id }) => org_id === wanted);
  // Where the address names no org, or one of others.
  const role = member?.role ?? 'viewer';
  return { orgId: wanted ?? '', orgName: member?.org_name ?? '', role, can: (action) => may(role, action) };
}

/** A part of the page's address, such as `sessionId` of `/projects/$projectId/calls/$sessionId`. */
export function useParam(name: string): string {
  const params: Record<string, string | undefined> = useParams({ strict: false });
  const value = params[name];
  if (value === undefined) throw new Error(`This page has no ${name} in its address.`);
  return value;
}

/** The projects of an org that the person may see, by name. */
export function useProjects(orgId: string) {
  return useQuery({
    queryKey: ['projects', orgId],
    enabled: orgId !== '',
    queryFn: async () => ({
      items: await readAll((page) =>
        take(api.GET('/v1/orgs/{org_id}/projects', { params: { path: { org_id: orgId }, query: page } })),
      ),
    }),
  });
}

const LAST = 'parley.last-project';

/** Where the person was last, for the next visit: a convenience, which a full or forbidden storage takes away. */
export const lastProject = {
  get(): string | null {
    try {
      return localStorage.getItem(LAST);
    } catch {
      return null;
    }
  },
  set(projectId: string): void {
    try {
      localStorage.setItem(LAST, projectId);
    } catch {
      // As said.
    }
  },
  forget(): void {
    try {
      localStorage.removeItem(LAST);
    } catch {
      // As said.
    }
  },
};
