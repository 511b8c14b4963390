import { renew } from '../api/session.ts';
import { lastProject, profileQuery, projectQuery } from './project.ts';
import { queryClient } from './query-client.ts';

/** Pages that are open to nobody but people who are signed in; see `PAGES`. */
const BEHIND_SIGN_IN = /^\/(?:$|orgs\/|projects\/([^/]+))/;

/**
 * Asks for what the frame of the page at `pathname` needs while the page's own file is on its way. The frame asks for the
 * same, finds it or waits for it, and says what went wrong.
 */
export function askAhead(pathname: string): void {
  const match = BEHIND_SIGN_IN.exec(pathname);
  if (!match) return;
  const projectId = match[1] ?? (pathname === '/' ? lastProject.get() : null);
  renew().then(
    (isSignedIn) => {
      if (!isSignedIn) return;
      void queryClient.prefetchQuery(profileQuery);
      if (projectId !== null) void queryClient.prefetchQuery(projectQuery(projectId));
    },
    () => undefined,
  );
}
