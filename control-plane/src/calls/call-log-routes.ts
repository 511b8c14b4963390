import { z } from 'zod';
import { latencyStatsSchema } from '@parley/shared/contracts/call-events';
import { timedWordSchema } from '@parley/shared/contracts/turn';
import { usageSchema } from '@parley/shared/contracts/usage';
import { anyOf, listOf, queryBoolean, queryInteger, toPage } from '../http/list-query.ts';
import { defineOperation, HttpResponse, type Operation } from '../http/operation.ts';
import { sessionTarget } from '../sessions/session-target.ts';
import { EVENT_STREAM, lastEventId, wantsEventStream, type LiveStreams } from '../live/live-streams.ts';
import type { CallLog } from './call-log.ts';
import { toEvent } from './session-event-model.ts';
import { sessionEventResponse } from './session-events.ts';
import { sessionStream } from './session-stream.ts';
import type { SessionWatches } from './session-watches.ts';
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
    backchannel: z.boolean(),
    confidence: z.number().nullable(),
    node_id: z.string().nullable(),
    redacted: z.boolean(),
    words: z
      .array(timedWordSchema.meta({ id: 'TimedWord' }))
      .nullable()
      .optional()
      .meta({ description: 'With `words=true`: when each word was said; null where it is not known.' }),
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
export function callLogRoutes({
  callLog,
  streams,
  watches,
}: {
  callLog: CallLog;
  streams: LiveStreams;
  watches: SessionWatches;
}): Operation[] {
  return [
    defineOperation({
      id: 'getTranscript',
      method: 'GET',
      path: '/v1/sessions/{session_id}/transcript',
      tag: TAG,
      summary: 'Get the transcript',
      description:
        'All turns in order, as JSON; `format=text` returns lines of text, `format=vtt` WebVTT. With `words=true` the JSON says of ' +
        'each turn when its words were said, as the STT and the voice have told it. There are none of providers that do not tell, ' +
        'of turns in which something is masked, of calls before this was kept, and of more than 1,000 words in a turn.',
      access: READ,
      target: sessionTarget,
      query: z
        .object({
          format: z.enum(['json', 'text', 'vtt']).default('json'),
          words: queryBoolean.default(false).meta({ description: 'With the times of words; JSON only.' }),
        })
        .refine(({ format, words }) => !words || format === 'json', {
          path: ['words'],
          message: 'is possible with `format=json` only',
        }),
      responses: {
        200: {
          description: 'The turns, in the requested format',
          schema: listOf(turnResponse),
          alsoAs: ['text/plain', 'text/vtt'],
        },
      },
      handle: async ({ item, query }) => {
        const turns = await callLog.turns(item._id, { words: query.words });
        if (query.format === 'text') return new HttpResponse(200, toText(turns), TEXT);
        if (query.format === 'vtt') return new HttpResponse(200, toWebVtt(turns), VTT);
        const items = turns.map((turn) => ({
          ...toTurnResponse(turn),
          ...(query.words && { words: turn.words?.map((word) => ({ ...word })) ?? null }),
        }));
        return { items, total: items.length };
      },
    }),
    defineOperation({
      id: 'listSessionEvents',
      method: 'GET',
      path: '/v1/sessions/{session_id}/events',
      tag: TAG,
      summary: 'List events of a session',
      description:
        'Ordered by `index` and written while the call runs. Event types may be added. With `Accept: text/event-stream` the ' +
        'answer goes on: server-sent events, first those that are stored (behind `Last-Event-ID` or `after_index`, if given), then ' +
        'each as it happens. The `data` of each is an event as in the list; that of a `turn` has its `text` as well, where it is ' +
        'stored. While the call runs, `words` events without an `id` tell at most five times a second what a side has said of ' +
        'its unfinished turn, `{"role", "text", "final": false}`; they are stored nowhere, and not told where personal data is ' +
        'masked. A session that is over may still have events, such as `webhook`. An event may come twice, with the same `id`. ' +
        'A comment comes every 15 seconds. The answer ends when the caller may no longer read it, when the service stops or when ' +
        'it is read too slowly: come back with `Last-Event-ID`. Without the header, ask again with the last `index` as `after_index`.',
      access: READ,
      target: sessionTarget,
      query: z.object({
        type: anyOf(z.string().min(1).max(64)).optional(),
        after_index: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
        limit: queryInteger(1, 200).default(50),
        offset: queryInteger(0, 100_000).default(0),
      }),
      requestHeaders: {
        'Last-Event-ID': z.string().max(200).optional().meta({
          description: 'Of server-sent events: the `id` of the last one that was received.',
        }),
      },
      responses: {
        200: { description: 'Events', schema: listOf(sessionEventResponse), alsoAs: [EVENT_STREAM] },
      },
      handle: async (request) => {
        const { item, query, headers } = request;
        if (wantsEventStream(headers)) {
          const after = { id: lastEventId(headers), index: query.after_index };
          return streams.open(
            request,
            await sessionStream(callLog, item._id, { after, types: query.type, watches }),
          );
        }
        return toPage(
          await callLog.events(item._id, {
            types: query.type,
            afterIndex: query.after_index,
            limit: query.limit,
            offset: query.offset,
          }),
          toEvent,
        );
      },
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
    backchannel: turn.backchannel ?? false,
    confidence: turn.confidence,
    node_id: turn.node_id,
    redacted: turn.redacted,
  };
}
