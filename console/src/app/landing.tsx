import { Navigate } from '@tanstack/react-router';
import { EmptyState } from '../components/empty-state.tsx';
import { ErrorMessage } from '../components/error-message.tsx';
import { Loading } from '../components/loading.tsx';
import { lastProject, useProfile, useProjects } from './project.ts';

/** `/`: the project where the person was last, or the first they may see. */
export function Landing() {
  const { memberships } = useProfile();
  const orgId = memberships[0]?.org_id ?? '';
  const { data, error, refetch } = useProjects(orgId);
  if (memberships.length === 0)
    return (
      <EmptyState
        title="You are in no organisation"
        text="Ask somebody who administers one to invite you to it."
      />
    );
  const last = lastProject.get();
  if (last !== null) return <Navigate to={`/projects/${last}/home`} replace />;
  if (error) return <ErrorMessage error={error} onRetry={() => void refetch()} />;
  if (!data) return <Loading height="60vh" />;
  const first = data.items[0];
  return <Navigate to={first ? `/projects/${first.id}/home` : `/orgs/${orgId}/projects`} replace />;
}
