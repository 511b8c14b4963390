import { z } from 'zod';
import { amount } from '../http/amount.ts';
import { idSchema } from '../http/operation.ts';
import { timezoneName } from '../http/value-schemas.ts';

export const day = z.iso.date().meta({ example: '2026-01-31' });

export const usageQuery = z.object({
  from: day.optional().meta({ description: 'First day; without it the first of the month of `to`.' }),
  to: day.optional().meta({ description: 'Last day, itself included; today without it.' }),
  project_id: idSchema('prj').optional().meta({ description: 'Only calls of this project.' }),
  timezone: timezoneName
    .refine((name) => !/^[+-]/.test(name), 'must be an IANA timezone')
    .optional()
    .meta({ description: "Timezone whose days are meant; the org's without it." }),
});

export const connectedMinutes = z.number().min(0).meta({
  description: 'Minutes in which caller and agent were connected, to a thousandth.',
  example: 42.5,
});
export const endedSessions = z.number().int().meta({ description: 'Sessions that ended.', example: 20 });
export const connectedSessions = z
  .number()
  .int()
  .meta({ description: 'Those of them in which caller and agent were connected.', example: 18 });

export const costSummaryResponse = z
  .object({
    org_id: z.string(),
    project_id: z
      .string()
      .nullable()
      .meta({ description: 'Project that was asked for; null: all of the org.' }),
    from: day.meta({ description: 'First day.' }),
    to: day.meta({ description: 'Last day.' }),
    currency: z.string().meta({ example: 'USD' }),
    total_amount: amount.meta({
      description: "What the calls cost; what was booked in another currency than the org's is not in it.",
    }),
    sessions: endedSessions,
    connected_sessions: connectedSessions,
    minutes: connectedMinutes,
    average_cost_per_minute_amount: amount.meta({ description: 'Cost of a minute; 0 where there is none.' }),
    previous_total_amount: amount.meta({ description: 'The same of as many days before `from`.' }),
  })
  .meta({ id: 'CostSummary' });

export const dailyUsageResponse = z
  .object({
    date: day.meta({ description: 'Day of the timezone.' }),
    sessions: endedSessions,
    connected_sessions: connectedSessions,
    minutes: connectedMinutes,
    amount: amount.meta({ description: "What the calls cost, in the org's currency." }),
  })
  .meta({ id: 'DailyUsage' });
