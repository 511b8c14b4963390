import { z } from 'zod';
import { listOf } from '../http/list-query.ts';
import { idSchema } from '../http/operation.ts';
import { connectedMinutes, connectedSessions, day, endedSessions, usageQuery } from './usage-schema.ts';

const { to, timezone } = usageQuery.shape;

/** Longest period that may be asked for: a record is read for each quarter of an hour in it. */
export const MAX_STATISTICS_DAYS = 31;

export const statisticsQuery = z.object({
  from: day.optional().meta({ description: 'First day; without it six days before `to`.' }),
  ...{ to, timezone },
  agent_id: idSchema('agt').optional().meta({ description: 'Only calls of this agent.' }),
  by: z.enum(['agent_and_day', 'day', 'agent']).default('agent_and_day').meta({
    description: 'What there is an item for: each agent on each day, each day, or each agent.',
  }),
});

const count = z.number().int().min(0);

const part = z.number().min(0).max(1);
const median = z.number().int().min(0).nullable();

/** What some calls were like. */
const callFigures = {
  sessions: endedSessions,
  connected_sessions: connectedSessions,
  minutes: connectedMinutes,
  answer_rate: part.meta({
    description: 'Part of the sessions in which caller and agent were connected.',
    example: 0.9,
  }),
  end_reasons: z
    .array(
      z.object({
        reason: z.string().meta({
          description: '`hangup_reason` or `failure_reason` of the sessions; `unknown`: they have none.',
          example: 'caller_hangup',
        }),
        sessions: count.meta({ description: 'Sessions that ended so.' }),
      }),
    )
    .meta({ description: 'How the sessions ended, the most frequent first.' }),
  reply_times: z
    .array(
      z.object({
        up_to_ms: z.number().int().nullable().meta({
          description: 'Longest time of this bar, in milliseconds; null: anything longer.',
          example: 750,
        }),
        sessions: count.meta({ description: 'Sessions with such a mean reply time.' }),
      }),
    )
    .meta({
      description:
        "Sessions by the mean time of their answers, from the caller's last word to the agent's first: all bars, the fastest first.",
    }),
  reply_latency: z
    .object({
      replies: count.meta({ description: 'Answers of the agent whose time was taken.' }),
      median_ms: median.meta({
        description: "From the caller's last word to the agent's first.",
        example: 820,
      }),
      turn_end_median_ms: median.meta({
        description: "Of it, from the caller's last word until the turn was over, its text included.",
        example: 310,
      }),
      llm_median_ms: median.meta({
        description: "Of it, until the LLM's first token; what it thought ahead is not in it.",
        example: 280,
      }),
      voice_median_ms: median.meta({
        description: "Of it, until the TTS's first audio.",
        example: 140,
      }),
    })
    .meta({
      description:
        'Medians over single answers, in milliseconds, from a histogram: each is at most 5 % beside the exact one. Null: none was ' +
        'measured, as in calls that an earlier version summed up. Medians of the parts do not add up to that of the whole.',
    }),
};

const dailyFigures = z
  .object({
    date: day.meta({ description: 'Day of the timezone; by agent the first of the period.' }),
    agent_id: z
      .string()
      .nullable()
      .meta({ description: 'Agent of the sessions; null: they had none, or by day all agents.' }),
    ...callFigures,
  })
  .meta({ id: 'DailyStatistics' });

export const dailyStatisticsResponse = z.object({
  ...listOf(dailyFigures).shape,
  period: z
    .object({
      from: day.meta({ description: 'First day.' }),
      to: day.meta({ description: 'Last day.' }),
      ...callFigures,
      answer_rate: part.nullable().meta({
        description: 'Part of the sessions in which caller and agent were connected; null: there are none.',
        example: 0.9,
      }),
    })
    .meta({ description: 'All calls of the period together.' }),
});
