import { z } from 'zod';
import { recordFields, maybeTime, time, toTimes } from '../http/record-schema.ts';
import type { ReplayedTurn } from './replay-diff.ts';
import { REPLAY_STATUSES } from './replay-model.ts';
import type { ReplayRecord } from './replay-model.ts';

export const startReplayRequest = z
  .strictObject({
    version: z
      .number()
      .int()
      .min(1)
      .max(999_999_999)
      .nullable()
      .default(null)
      .meta({ description: 'Version of the agent that answers; null: the newest.' }),
  })
  .meta({ id: 'StartReplayRequest' });
export type StartReplayRequest = z.output<typeof startReplayRequest>;

const count = z.number().int().min(0);
const milliseconds = z.number().int().nullable();
const replyResponse = z
  .object({
    text: z
      .string()
      .meta({ description: 'What the agent said, in all its turns until the caller spoke again.' }),
    interrupted: z
      .boolean()
      .meta({ description: 'Whether it was cut off: the text is what was heard of it.' }),
    latency_ms: milliseconds.meta({
      description:
        "Milliseconds from the caller's last word to the agent's first; null where it was not taken.",
    }),
    llm_first_token_ms: milliseconds.meta({
      description: 'Milliseconds until the first word of the language model; null where there was none.',
    }),
    tools: z
      .array(
        z.object({
          name: z.string().meta({ description: 'Name of the tool.' }),
          arguments: z
            .string()
            .nullable()
            .meta({ description: 'JSON as the model wrote it; shortened when it is long.' }),
          ok: z.boolean().nullable().meta({ description: 'Whether it succeeded; null: it never answered.' }),
          code: z.string().nullable().meta({
            description: 'Why it failed; `no_mock_matched`: it was not called with these arguments then.',
          }),
          duration_ms: z.number().nullable().meta({ description: 'How long it took, in milliseconds.' }),
        }),
      )
      .meta({ description: 'Tools that were called meanwhile, in order.' }),
  })
  .meta({ id: 'ReplayedReply' });

const summaryFields = {
  id: z.string().meta({ example: 'rpl_01k5z8r5m2q7v3x9b4n6c8d0ef' }),
  session_id: z.string().meta({ description: 'Session that is held again.' }),
  agent_id: z.string(),
  version: z.number().int().meta({ description: 'Version that answers this time.' }),
  status: z.enum(REPLAY_STATUSES).meta({ description: 'How far it is.' }),
  error: z.string().nullable().meta({ description: 'Why it failed; null: it did not.' }),
  replay_session_id: z.string().nullable().meta({
    description: 'Session of the repetition, with its own transcript and events; null until it has begun.',
  }),
  replies_changed: count
    .nullable()
    .meta({ description: 'Turns that got another reply; null until it is completed.' }),
  tools_changed: count.nullable().meta({
    description:
      'Turns for which other tools were called, or with other arguments; null until it is completed.',
  }),
  created_by: z.string(),
  started_at: maybeTime.meta({ description: 'When it began; null: it waits.' }),
  ended_at: maybeTime.meta({ description: 'When it was over; null: it is not.' }),
  ...recordFields,
};

export const replaySummaryResponse = z.object(summaryFields).meta({ id: 'ReplaySummary' });
export const replayResponse = z
  .object({
    ...summaryFields,
    turns: z
      .array(
        z.object({
          caller: z.string().nullable().meta({
            description: 'What the caller said; null: what the agent said by itself at the beginning.',
          }),
          before: replyResponse.meta({ description: 'What the agent did about it then.' }),
          after: replyResponse.nullable().meta({
            description:
              'What the version did now; null: it was not said again (keys), or the conversation had ended.',
          }),
          reply_changed: z.boolean().meta({ description: 'Whether the text is another.' }),
          tools_changed: z
            .boolean()
            .meta({ description: 'Whether other tools were called, or with other arguments.' }),
        }),
      )
      .meta({ description: 'Turns of the caller, then and now; empty until it is completed.' }),
  })
  .meta({ id: 'Replay' });

export function turnsOf({ turns }: Pick<ReplayRecord, 'turns'>): ReplayedTurn[] {
  return turns === null ? [] : (JSON.parse(turns) as ReplayedTurn[]);
}

export function toReplaySummary(replay: ReplayRecord): z.input<typeof replaySummaryResponse> {
  const turns = replay.turns === null ? null : turnsOf(replay);
  return {
    id: replay._id,
    session_id: replay.session_id,
    agent_id: replay.agent_id,
    version: replay.agent_version,
    status: replay.status,
    error: replay.error,
    replay_session_id: replay.replay_session_id,
    replies_changed: turns?.filter((turn) => turn.reply_changed).length ?? null,
    tools_changed: turns?.filter((turn) => turn.tools_changed).length ?? null,
    created_by: replay.created_by,
    started_at: time(replay.started_at),
    ended_at: time(replay.ended_at),
    ...toTimes(replay),
  };
}

export function toReplayResponse(replay: ReplayRecord): z.input<typeof replayResponse> {
  return { ...toReplaySummary(replay), turns: turnsOf(replay) };
}
