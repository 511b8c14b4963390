import { z } from 'zod';
import { latencyStatsSchema, usageSchema } from '@parley/shared/contracts/call-events';
import { anyOf, listOf, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse, type Operation } from '../http/operation.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import type { CallLog } from './call-log.ts';
import type { SessionEventRecord } from './session-event-model.ts';
import { sessionEventResponse } from './session-events.ts';
import { toText, toWebVtt } from './transcript-format.ts';
import type { TurnRecord } from './turn-model.ts';

const TAG = 'Logs';
const READ = { key: 'viewer', user: 'viewer' } as const;

const turnResponse = z
  .object({
    index: z.number().int(),
    role: z.string(),
    text: z.string().meta({ description: 'For an agent turn: what the caller heard of it.' }),
    start_ms: z.number().int(),
    end_ms: z.number().int(),
    language: z.string().nullable(),
    interrupted: z.boolean(),
    confidence: z.number().nullable(),
    node_id: z.string().nullable(),
    redacted: z.boolean(),
  })
  .meta({ id: 'Turn' });

const METRICS = [
  'turn_e2e_ms',
  'stt_final_ms',
  'llm_first_token_ms',
  'tts_first_audio_ms',
  'knowledge_ms',
  'tool_ms',
  'caller_reply_ms',
  'thought_ahead_ms',
] as const;

const stats = latencyStatsSchema.nullable();
const metricsResponse = z
  .object({
    turns: z.number().int(),
    ...(Object.fromEntries(METRICS.map((name) => [name, stats])) as Record<
      (typeof METRICS)[number],
      typeof stats
    >),
    usage: usageSchema.nullable(),
  })
  .meta({ id: 'SessionMetrics' });

/** Routes of a session's transcript, events and metrics, readable while the call runs. */
export function callLogRoutes({ callLog }: { callLog: CallLog }): Operation[] {
  return [
    defineOperation({
      id: 'getTranscript',
      method: 'GET',
      path: '/v1/sessions/{session_id}/transcript',
      tag: TAG,
      summary: 'Get the transcript',
      description: 'All turns in order, as JSON; `format=text` returns lines of text, `format=vtt` WebVTT.',
      access: READ,
      target: sessionTarget,
      query: z.object({ format: z.enum(['json', 'text', 'vtt']).default('json') }),
      responses: {
        200: {
          description: 'The turns, in the requested format',
          schema: listOf(turnResponse),
          alsoAs: ['text/plain', 'text/vtt'],
        },
      },
      handle: async ({ item, query }) => {
        const turns = await callLog.turns(item._id);
        if (query.format === 'text') return new HttpResponse(200, toText(turns), TEXT);
        if (query.format === 'vtt') return new HttpResponse(200, toWebVtt(turns), VTT);
        return { items: turns.map(toTurnResponse), total: turns.length };
      },
    }),
    defineOperation({
      id: 'listSessionEvents',
      method: 'GET',
      path: '/v1/sessions/{session_id}/events',
      tag: TAG,
      summary: 'List events of a session',
      description:
        'Ordered by `index` and written while the call runs: to follow it, ask again with the last `index` as `after_index`. Event types may be added.',
      access: READ,
      target: sessionTarget,
      query: z.object({
        type: anyOf(z.string().min(1).max(64)).optional(),
        after_index: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      responses: { 200: { description: 'Events', schema: listOf(sessionEventResponse) } },
      handle: async ({ item, query }) =>
        toPage(
          await callLog.events(item._id, {
            types: query.type,
            afterIndex: query.after_index,
            limit: query.limit,
            offset: query.offset,
          }),
          toEventResponse,
        ),
    }),
    defineOperation({
      id: 'getSessionMetrics',
      method: 'GET',
      path: '/v1/sessions/{session_id}/metrics',
      tag: TAG,
      summary: 'Get the metrics of a session',
      access: READ,
      target: sessionTarget,
      responses: { 200: { description: 'Latencies and usage', schema: metricsResponse } },
      handle: ({ item }) => ({
        turns: item.metrics?.turns ?? 0,
        ...(Object.fromEntries(METRICS.map((name) => [name, item.metrics?.[name] ?? null])) as Record<
          (typeof METRICS)[number],
          z.infer<typeof stats>
        >),
        usage: item.usage,
      }),
    }),
  ];
}

const TEXT = { 'Content-Type': 'text/plain; charset=utf-8' };
const VTT = { 'Content-Type': 'text/vtt; charset=utf-8' };

function toTurnResponse(turn: TurnRecord): z.input<typeof turnResponse> {
  return {
    index: turn.turn_index,
    role: turn.role,
    text: turn.text,
    start_ms: turn.start_ms,
    end_ms: turn.end_ms,
    language: turn.language,
    interrupted: turn.interrupted,
    confidence: turn.confidence,
    node_id: turn.node_id,
    redacted: turn.redacted,
  };
}

function toEventResponse(event: SessionEventRecord): z.input<typeof sessionEventResponse> {
  return {
    id: event._id,
    index: event.index,
    at: event.at.toISOString(),
    offset_ms: event.offset_ms,
    type: event.type,
    data: event.data,
  };
}
