import './call.css';
import { Anchor, Skeleton, Stack } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { Fragment } from 'react';
import { useProject } from '../../app/project.ts';
import { CopyCurl } from '../../components/copy-curl.tsx';
import { PageError } from '../../components/page-error.tsx';
import { LiveCall } from '../live-call/live-call.tsx';
import { useFreshAfterStep, useSession } from './call-data.ts';
import type { Session } from './call-data.ts';
import { CallHeader } from './call-header.tsx';
import { FinishedCall } from './finished-call.tsx';
import { isOver } from './session-log.ts';

/** How often a call is looked at that is not over. */
const LOOK_EVERY_MS = 3000;

/** Whether its recording and analyses may still be on their way. */
function isFinishing(session: Session | undefined): boolean {
  return session !== undefined && ['pending', 'running'].includes(session.detail.post_call.status);
}

/** One call: its sound, its words, and what came of it. */
export default function CallPage() {
  const { sessionId = '' } = useParams({ strict: false });
  const { projectId } = useProject();
  const session = useSession(sessionId);
  const live = session.data !== undefined && !isOver(session.data.status);
  useSession(sessionId, live || isFinishing(session.data) ? LOOK_EVERY_MS : false);
  useFreshAfterStep(session.data);
  return (
    <Stack gap="sm">
      <Anchor component={Link} to={`/projects/${projectId}/calls`} size="sm">
        All calls
      </Anchor>
      {session.error && !session.data ? (
        <PageError error={session.error} onRetry={() => void session.refetch()} />
      ) : session.data ? (
        <Fragment key={sessionId}>
          {live ? (
            <>
              <CallHeader
                session={session.data}
                actions={<CopyCurl request={{ method: 'GET', path: `/v1/sessions/${sessionId}/events` }} />}
              />
              <LiveCall sessionId={sessionId} />
            </>
          ) : (
            <FinishedCall session={session.data} />
          )}
        </Fragment>
      ) : (
        <Stack aria-label="Loading" aria-busy>
          <Skeleton h={48} />
          <Skeleton h={180} />
          <Skeleton h={320} />
        </Stack>
      )}
    </Stack>
  );
}
