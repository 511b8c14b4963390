import { z } from 'zod';
import { idSchema } from '../http/operation.ts';
import { connectedMinutes, connectedSessions, day, endedSessions, usageQuery } from './usage-schema.ts';

const { to, timezone } = usageQuery.shape;

/** Longest period that may be asked for: a record is read for each quarter of an hour in it. */
export const MAX_STATISTICS_DAYS = 31;

export const statisticsQuery = z.object({
  from: day.optional().meta({ description: 'First day; without it six days before `to`.' }),
  ...{ to, timezone },
  agent_id: idSchema('agt').optional().meta({ description: 'Only calls of this agent.' }),
});

const count = z.number().int().min(0);

export const dailyStatisticsResponse = z
  .object({
    date: day.meta({ description: 'Day of the timezone.' }),
    agent_id: z.string().nullable().meta({ description: 'Agent of the sessions; null: they had none.' }),
    sessions: endedSessions,
    connected_sessions: connectedSessions,
    minutes: connectedMinutes,
    answer_rate: z.number().min(0).max(1).meta({
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
  })
  .meta({ id: 'DailyStatistics' });
