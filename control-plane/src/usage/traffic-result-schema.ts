import { z } from 'zod';
import { amount } from '../http/amount.ts';
import { anyOf } from '../http/list-query.ts';
import { connectedMinutes, connectedSessions, day, endedSessions, usageQuery } from './usage-schema.ts';

const { from, to, timezone } = usageQuery.shape;

export const trafficResultsQuery = z.object({
  ...{ from, to, timezone },
  version: anyOf(z.string().regex(/^[1-9]\d{0,8}$/, 'must be a version number'))
    .optional()
    .meta({
      description: 'Version of the agent; several: each of them. Without it those that get callers now.',
    }),
});

const count = z.number().int().min(0);

export const trafficResultsResponse = z
  .object({
    from: day.meta({ description: 'First day.' }),
    to: day.meta({ description: 'Last day.' }),
    currency: z.string().meta({ example: 'USD' }),
    items: z.array(
      z.object({
        version: z.number().int(),
        weight: count.max(100).meta({ description: 'Callers of a hundred that it gets now.', example: 90 }),
        sessions: endedSessions,
        connected_sessions: connectedSessions,
        minutes: connectedMinutes,
        goals: z
          .object({
            achieved: count.meta({ description: 'Sessions that reached it.' }),
            not_achieved: count.meta({ description: 'Sessions that did not reach it.' }),
            unclear: count.meta({ description: 'Sessions of which that cannot be said.' }),
          })
          .meta({ description: 'Sessions by how they ended for the goal of the agent, as first analysed.' }),
        average_reply_ms: z.number().int().nullable().meta({
          description:
            "Milliseconds from the caller's last word to the agent's first, over all answers; null: none.",
        }),
        total_amount: amount.meta({ description: 'What they cost, in this currency.' }),
      }),
    ),
  })
  .meta({ id: 'TrafficResults' });
