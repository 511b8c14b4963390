import { z } from 'zod';
import type { Feature } from '../composition/feature.ts';
import type { Platform } from '../composition/platform.ts';
import type { LiveStreams } from '../live/live-streams.ts';
import { liveSessionRoutes } from './live-session-routes.ts';
import { PreCallService } from './pre-call.ts';
import { Retention, RETENTION_INTERVAL_MS } from './retention.ts';
import { SessionChoices } from './session-choices.ts';
import { SessionCloser } from './session-closer.ts';
import { SessionControl } from './session-control.ts';
import { SessionCreation } from './session-creation.ts';
import { SessionCredentials } from './session-credentials.ts';
import { SessionErasure } from './session-erasure.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { sessionSearch } from './session-search.ts';
import { SessionSlots } from './session-slots.ts';
import { SESSION_AUDIT, sessionRoutes } from './session-routes.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';
import { sessionSample } from './session-sample.ts';

type SlotDeps = ConstructorParameters<typeof SessionSlots>[0];
type ChoiceDeps = ConstructorParameters<typeof SessionChoices>[0];
type ErasureDeps = ConstructorParameters<typeof SessionErasure>[0];
type CloserDeps = ConstructorParameters<typeof SessionCloser>[0];
type ControlDeps = ConstructorParameters<typeof SessionControl>[0];
type CreationDeps = ConstructorParameters<typeof SessionCreation>[0];
type CredentialDeps = ConstructorParameters<typeof SessionCredentials>[0];
type RetentionDeps = ConstructorParameters<typeof Retention>[0];
type SessionPlatform = Pick<
  Platform,
  'audit' | 'bus' | 'clock' | 'config' | 'directory' | 'logger' | 'processName' | 'safeFetch' | 'signingKeys'
>;

export function createSessions({
  config,
  processName,
  safeFetch,
  ...deps
}: SessionPlatform &
  Omit<SlotDeps, 'limits'> &
  ChoiceDeps &
  ErasureDeps &
  Omit<CloserDeps, 'book' | 'erase' | 'release'> &
  Pick<ControlDeps, 'agents' | 'gateways'> &
  Pick<CredentialDeps, 'tickets'> &
  Pick<CreationDeps, 'costs'> & {
    tickets: Pick<WsTicketService, 'revokeUnclaimed'>;
    costs: { book(session: SessionRecord): Promise<unknown> };
    streams: LiveStreams;
    /** Told of every session that is over. Safe to repeat. */
    dialEnded: (session: SessionRecord) => Promise<void>;
  } & Pick<RetentionDeps, 'database' | 'needed' | 'tenants'>) {
  const preCall = new PreCallService({
    ...deps,
    call: async ({ body, method, url, headers, timeoutMs, orgId }) => {
      const answer = await safeFetch.request({
        ...{ method, url, headers, timeoutMs, orgId, purpose: 'webhook' },
        ...(body === null ? {} : { body }),
      });
      return { status: answer.status, body: answer.body.toString('utf8') };
    },
  });
  const sessionSlots = new SessionSlots({
    ...deps,
    limits: {
      concurrentSessionsPerOrg: config.CONCURRENT_SESSIONS_PER_ORG,
      sessionStartsPerMinute: config.SESSION_STARTS_PER_MINUTE,
    },
  });
  const sessionErasure = new SessionErasure(deps);
  const erase = (session: SessionRecord) => sessionErasure.erase(session);
  const sessionCloser = new SessionCloser({
    ...{ ...deps, erase },
    book: (session) => deps.costs.book(session),
    async release(session) {
      // Nobody was let in, or to be let in.
      if (session.join_by !== null) await deps.tickets.revokeUnclaimed(session._id);
      await deps.dialEnded(session);
      await sessionSlots.release(session._id, session.slot_scopes);
    },
  });
  const sessionControl = new SessionControl({ ...deps, closer: sessionCloser, slots: sessionSlots });
  const sessionCredentials = new SessionCredentials({
    ...deps,
    publicUrl: config.PUBLIC_URL,
    mediaPublicUrl: config.MEDIA_PUBLIC_URL,
  });
  const sessionCreation = new SessionCreation({
    ...{ ...deps, preCall },
    choices: new SessionChoices(deps),
    slots: sessionSlots,
    credentials: sessionCredentials,
  });
  const retention = new Retention({ ...deps, erase, owner: processName });
  return {
    ...{ preCall, retention, sessionSlots },
    ...{ sessionCloser, sessionControl, sessionCreation, sessionCredentials, sessionErasure },
    collections: [sessionCollection],
    searches: [sessionSearch(deps.tenants)],
    routes: [
      ...sessionRoutes({
        ...{ sessionControl, sessionCreation, sessionCredentials, sessionErasure },
        audit: deps.audit,
      }),
      ...liveSessionRoutes({ ...deps, addresses: sessionCredentials.addresses }),
    ],
    parameters: { session_id: z.uuid() },
    flags: [{ key: 'realtime_websocket', description: 'Realtime sessions over a WebSocket' }],
    audit: SESSION_AUDIT,
    workers: [
      {
        name: 'retention',
        everyMs: RETENTION_INTERVAL_MS,
        work: (signal) => retention.sweep(signal),
        release: () => retention.release(),
      },
    ],
    samples: [sessionSample],
  } satisfies Feature & { sessionCreation: SessionCreation };
}
