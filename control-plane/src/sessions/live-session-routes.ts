import { z } from 'zod';
import type { Clock } from '@parley/shared/time/clock';
import { listOf, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, type Operation } from '../http/operation.ts';
import { EVENT_STREAM, lastEventId, wantsEventStream, type LiveStreams } from '../live/live-streams.ts';
import { inProject } from '../tenancy/target.ts';
import { LISTED, liveSessionStream } from './live-session-stream.ts';
import { sessionCollection } from './session-model.ts';
import type { SessionRecord } from './session-record.ts';
import { sessionSchema, toSessionResponse, type SessionAddresses } from './session-schema.ts';
import { UNDER_WAY_STATUSES } from './session-states.ts';

/** Who is talking now, and who follows that. */
export function liveSessionRoutes(deps: {
  addresses: SessionAddresses;
  clock: Clock;
  streams: LiveStreams;
}): Operation[] {
  const show = (session: SessionRecord) => toSessionResponse(session, deps.addresses);
  return [
    defineOperation({
      id: 'listLiveSessions',
      method: 'GET',
      path: '/v1/orgs/{org_id}/projects/{project_id}/sessions/live',
      tag: 'Sessions',
      summary: 'List and follow live sessions',
      description:
        'Sessions that are under way, from the ringing to the end, the newest first. With `Accept: text/event-stream` the answer ' +
        'goes on: a server-sent event for each session of the project that begins, changes its status or ends: ' +
        '`{"id", "type": "session", "at", "session"}`, with the session as the list has it. To miss none, follow first, then ' +
        'read the list. Who comes back with `Last-Event-ID` is told of the last 200 that changed meanwhile. A comment comes every ' +
        '15 seconds. The answer ends when the caller may no longer read it, when the service stops or when it is read too slowly.',
      access: { key: 'viewer', user: 'viewer' },
      target: inProject,
      query: z.object({
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      requestHeaders: {
        'Last-Event-ID': z.string().max(200).optional().meta({
          description: 'Of server-sent events: the `id` of the last one that was received.',
        }),
      },
      responses: {
        200: { description: 'Sessions under way', schema: listOf(sessionSchema), alsoAs: [EVENT_STREAM] },
      },
      handle: async (request) => {
        const { scope, query, headers } = request;
        if (wantsEventStream(headers)) {
          const source = liveSessionStream(scope, {
            ...{ clock: deps.clock, show },
            lastEventId: lastEventId(headers),
          });
          return deps.streams.open(request, source);
        }
        const page = await scope
          .collection(sessionCollection)
          .page({ ...LISTED, status: { $in: [...UNDER_WAY_STATUSES] } }, { ...query, sort: '-created_at' });
        return toPage(page, show);
      },
    }),
  ];
}
