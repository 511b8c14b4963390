import { z } from 'zod';
import { ValidationError } from '@parley/shared/errors/app-error';
import { overridesSchema } from '../agents/agent-overrides.ts';
import { idSchema } from '../http/operation.ts';
import { time, timestamp } from '../http/record-schema.ts';
import { timezoneName, variablesSchema } from '../http/value-schemas.ts';
import type { StartedCall } from './start-call-service.ts';

const NUMBERS = ['to_number', 'phone_number', 'phoneNumber'] as const;
const MAX_VARIABLES = 100;

const phoneNumber = z
  .string()
  .regex(/^\+[1-9]\d{6,14}$/, 'must be an E.164 number such as +14155550100')
  .meta({ example: '+14155550100' });

/** How often the person is called; without it once. */
const retry = z
  .strictObject({
    max_attempts: z.number().int().min(1).max(10).default(3).meta({ description: 'Calls at most.' }),
    delays_minutes: z
      .array(z.number().int().min(1).max(10_080))
      .min(1)
      .max(10)
      .default([30, 120])
      .meta({ description: 'Minutes between the end of a call and the next one; the last value repeats.' }),
    retry_on: z
      .array(z.enum(['no_answer', 'busy', 'failed', 'voicemail', 'rejected']))
      .max(5)
      .default(['no_answer', 'busy', 'failed'])
      .meta({ description: 'Outcomes after which the person is called again.' }),
  })
  .meta({ description: 'When the person is called again; without it, they are called once.' });
export type StartCallRetry = z.output<typeof retry>;

const callFields = {
  to_number: phoneNumber.optional().meta({
    description: 'Number to call. One of the three fields is needed; several must be equal.',
  }),
  phone_number: phoneNumber.optional().meta({ description: 'The same as `to_number`.' }),
  phoneNumber: phoneNumber.optional().meta({ description: 'The same as `to_number`.' }),
  phone_number_id: idSchema('phn').nullish().meta({
    description:
      "Number that the call comes from. Without it the agent's, else the project's first active one.",
  }),
  variables: variablesSchema.nullish().meta({
    description:
      'Values of variables of the call. `name`, `external_id` and `phone_number` are variables, too.',
  }),
  overrides: overridesSchema
    .nullish()
    .meta({ description: 'What the call has otherwise than its agent; what is left out is of the agent.' }),
  schedule_at: z.iso
    .datetime({ offset: true })
    .transform((text) => new Date(text))
    .nullish()
    .meta({
      description: 'When to call, at most 30 days ahead; without it at once.',
      example: '2026-01-31T09:30:00.000Z',
      override: ({ jsonSchema }) => Object.assign(jsonSchema, { type: 'string', format: 'date-time' }),
    }),
  name: z.string().trim().min(1).max(200).nullish().meta({ description: 'Name of the person.' }),
  external_id: z.string().min(1).max(200).nullish(),
  timezone: timezoneName.nullish().meta({ description: 'IANA timezone of the person, for calling hours.' }),
};

/** Unknown fields are ignored. */
export const startCallRequest = z
  .object({
    agent_id: idSchema('agt').meta({ description: 'Agent that calls.' }),
    ...callFields,
    retry: retry.nullish(),
    post_call_analysis_ids: z
      .array(z.string())
      .max(50)
      .nullish()
      .meta({ description: "Analyses of the call; without it the agent's." }),
  })
  .superRefine(checkNumber)
  .meta({ id: 'StartCallRequest' });

/** The same of the webhook; what else stands in its body are variables. */
export const incomingCallRequest = z.object(callFields).superRefine(checkNumber);

/** For the description: the body is read raw, for its signature. */
export const incomingCallBody = z.looseObject(callFields).meta({
  id: 'IncomingStartCall',
  description: 'Further fields with texts, numbers or booleans are variables; those of `variables` win.',
});

type CallFields = z.output<typeof incomingCallRequest>;

/** What a request asks for. */
export interface RequestedCall {
  to: string;
  phoneNumberId: string | null;
  variables: Record<string, string>;
  overrides: NonNullable<CallFields['overrides']> | null;
  scheduleAt: Date | null;
  name: string | null;
  externalId: string | null;
  timezone: string | null;
  retry: StartCallRetry | null;
  analysisIds: string[] | null;
}

export function toRequestedCall({
  to_number,
  phone_number,
  phoneNumber,
  ...fields
}: CallFields &
  Partial<Pick<z.output<typeof startCallRequest>, 'retry' | 'post_call_analysis_ids'>>): RequestedCall {
  const to = (to_number ?? phone_number ?? phoneNumber)!;
  const { name = null, external_id: externalId = null, variables } = fields;
  return {
    to,
    phoneNumberId: fields.phone_number_id ?? null,
    variables: {
      phone_number: to,
      ...(name !== null && { name }),
      ...(externalId !== null && { external_id: externalId }),
      ...variables,
    },
    overrides: fields.overrides ?? null,
    scheduleAt: fields.schedule_at ?? null,
    name,
    externalId,
    timezone: fields.timezone ?? null,
    retry: fields.retry ?? null,
    analysisIds: fields.post_call_analysis_ids ?? null,
  };
}

/**
 * Variables that stand in the body of the webhook itself: texts, numbers and booleans under names that are not its own.
 * What cannot be a variable is left out.
 * @param named those of `variables`, which win
 */
export function topLevelVariables(
  body: Readonly<Record<string, unknown>>,
  named: Readonly<Record<string, string>>,
): Record<string, string> {
  const found = Object.entries(body).flatMap(([name, value]): [string, string][] => {
    if (Object.hasOwn(callFields, name) || !['string', 'number', 'boolean'].includes(typeof value)) return [];
    const variable = { [name]: String(value) };
    return variablesSchema.safeParse(variable).success ? Object.entries(variable) : [];
  });
  const room = MAX_VARIABLES - Object.keys(named).length;
  return {
    ...Object.fromEntries(found.filter(([name]) => !Object.hasOwn(named, name)).slice(0, room)),
    ...named,
  };
}

export const startedCallResponse = z
  .object({
    status: z.literal('queued').meta({ description: 'Always `queued`.' }),
    session_id: z
      .string()
      .nullable()
      .meta({ description: 'Session of the call; null: it is for later, and has none yet.' }),
    campaign_id: z.string().meta({ description: 'Campaign of this one call.' }),
    contact_id: z.string().meta({ description: 'Its one contact.' }),
    attempt_number: z.number().int().meta({ description: 'Always 1.' }),
    queued_at: timestamp.meta({ description: 'When the call was queued.' }),
  })
  .meta({ id: 'StartedCall' });

export function toStartedCall(call: StartedCall): z.input<typeof startedCallResponse> {
  return {
    status: 'queued',
    session_id: call.sessionId,
    campaign_id: call.campaignId,
    contact_id: call.contactId,
    attempt_number: 1,
    queued_at: time(call.queuedAt),
  };
}

/** One number, however often it is sent. */
function checkNumber(
  body: { [Name in (typeof NUMBERS)[number]]?: string | undefined },
  context: z.RefinementCtx,
): void {
  const sent = NUMBERS.filter((name) => body[name] !== undefined);
  const first = sent[0] && body[sent[0]];
  if (first === undefined)
    context.addIssue({ code: 'invalid_type', expected: 'string', path: ['to_number'], input: undefined });
  for (const name of sent.slice(1))
    if (body[name] !== first)
      context.addIssue({ code: 'custom', path: [name], message: `must be equal to ${sent[0]}` });
}

/** @throws ValidationError for overrides in a request that may have none */
export function refuseOverrides(call: RequestedCall): void {
  if (call.overrides === null) return;
  throw new ValidationError([
    {
      loc: ['body', 'overrides'],
      msg: 'is not taken by the webhook of this agent: enable config.webhooks.start_call.allow_overrides',
      type: 'not_available',
    },
  ]);
}
