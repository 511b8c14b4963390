import { listOf, listQuery, toPage } from '../http/list-query.ts';
import { defineOperation, jsonBody } from '../http/operation.ts';
import type { Operation } from '../http/operation.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import { item } from '../tenancy/target.ts';
import { replayCollection } from './replay-model.ts';
import {
  replayResponse,
  replaySummaryResponse,
  startReplayRequest,
  toReplayResponse,
  toReplaySummary,
} from './replay-schema.ts';
import type { ReplayService } from './replay-service.ts';

const tag = 'Replays';

export function replayRoutes(replays: ReplayService): Operation[] {
  return [
    defineOperation({
      id: 'startReplay',
      method: 'POST',
      path: '/v1/sessions/{session_id}/replays',
      tag,
      summary: 'Replay a session with a version of its agent',
      description:
        'Holds the conversation again, in writing: what the caller said is said to the version, and its tools answer what ' +
        'they answered then, never by themselves. The result sets replies, tool calls and latencies beside each other.',
      access: { key: 'editor', user: 'editor' },
      target: sessionTarget,
      body: jsonBody(startReplayRequest, { optional: true }),
      responses: { 202: { description: 'The replay is queued', schema: replayResponse } },
      errors: [409],
      idempotent: {},
      handle: async ({ scope, caller, item: session, body, address }) =>
        toReplayResponse(await replays.start(scope, caller, session, body, { address })),
    }),
    defineOperation({
      id: 'listReplays',
      method: 'GET',
      path: '/v1/sessions/{session_id}/replays',
      tag,
      summary: 'List replays of a session',
      access: { key: 'viewer', user: 'viewer' },
      target: sessionTarget,
      query: listQuery({}),
      responses: { 200: { description: 'A page of replays', schema: listOf(replaySummaryResponse) } },
      handle: async ({ scope, item: session, query }) =>
        toPage(await replays.list(scope, session._id, query), toReplaySummary),
    }),
    defineOperation({
      id: 'getReplay',
      method: 'GET',
      path: '/v1/replays/{replay_id}',
      tag,
      summary: 'Get a replay with its comparison',
      access: { key: 'viewer', user: 'viewer' },
      target: item(replayCollection, 'replay_id'),
      responses: { 200: { description: 'The replay', schema: replayResponse } },
      handle: ({ item: replay }) => toReplayResponse(replay),
    }),
  ];
}
