import { z } from 'zod';
import { CARRIER_VERDICTS } from '@parley/shared/contracts/answer-detection';
import { CALL_EVENTS, type CallEventDescriptor } from '@parley/shared/contracts/call-events';
import { carrierSchema, SESSION_STATUSES } from '@parley/shared/contracts/session-values';
import { timestamp } from '../http/record-schema.ts';
import { TREATMENT_ACTIONS, TREATMENT_REASONS } from '../sessions/session-treatment.ts';

interface SessionEventDescriptor {
  /** A sentence for whoever reads the events of a session. */
  description: string;
  data: z.ZodType<Record<string, unknown>>;
}

/** The events of a session that the control plane itself writes, beside those of its gateway. */
const OWN_EVENTS = {
  state: {
    description: 'The status of the session has changed.',
    data: z.object({
      status: z.enum(SESSION_STATUSES),
      ended_by: z.string().nullable().optional(),
      hangup_reason: z.string().nullable().optional(),
      failure_reason: z.string().nullable().optional(),
      cause: z
        .string()
        .optional()
        .meta({ description: "Of the end: the carrier's own words for why, where it has said so by then." }),
    }),
  },
  dial: {
    description: 'The carrier was asked to call, or has told how that went.',
    data: z.object({
      attempt: z.number().int().meta({ description: 'How often the carrier has been asked for this call.' }),
      carrier: carrierSchema.meta({ description: 'Carrier of the call.' }),
      result: z.enum([
        'placed',
        'refused',
        'unknown',
        'found',
        'not_placed',
        'given_up',
        'answered',
        'ended',
      ]),
      cause: z
        .string()
        .nullable()
        .meta({ description: 'Why, in the words of the carrier, if there is a reason.' }),
    }),
  },
  carrier_verdict: {
    description: "Who has answered, by the carrier's own detection: `answer_class` says what it came to.",
    data: z.object({
      class: z.enum(CARRIER_VERDICTS).meta({ description: 'What the carrier has heard.' }),
      beep: z.boolean().meta({ description: 'Whether it has heard the tone of a recorder.' }),
    }),
  },
  inbound_action: {
    description: "No agent takes an inbound call: what the rules of the number's deployment make of it.",
    data: z.object({
      reason: z.enum(TREATMENT_REASONS),
      action: z.enum(TREATMENT_ACTIONS),
      result: z.enum(['begun', 'refused', 'answered', 'failed']).meta({
        description:
          '`begun`: the carrier was told what to do. `refused`: the call was not answered. `answered`, `failed`: how a call went that was sent on.',
      }),
      cause: z
        .string()
        .nullable()
        .meta({ description: 'Why, in the words of the carrier, if there is a reason.' }),
    }),
  },
  memory: {
    description: 'Memories of the caller were read or written.',
    data: z.object({
      action: z.enum(['read', 'write']),
      count: z.number().int(),
      memory_ids: z.array(z.string()).optional(),
      /** Notes that were over the limit. */
      dropped: z.number().int().optional(),
      error: z.string().optional(),
    }),
  },
  webhook: {
    description: 'The call-ended webhook was attempted.',
    data: z.object({
      delivery_id: z.string(),
      attempt: z.number().int(),
      ok: z.boolean(),
      last_status: z.number().int().nullable(),
      last_error: z.string().nullable(),
    }),
  },
  warning: CALL_EVENTS.warning,
} as const satisfies Record<string, SessionEventDescriptor>;

export type OwnEventType = keyof typeof OWN_EVENTS;
export type OwnEventData<T extends OwnEventType> = z.input<(typeof OWN_EVENTS)[T]['data']>;

/** The fields of events that are not stored, because they are kept elsewhere, or not at all. */
export const LEFT_OUT: Readonly<Record<string, Readonly<Record<string, true>>>> = {
  turn: { text: true, words: true, variables: true, trusted_variables: true },
  remember: { content: true },
  flow_node: { state: true, variables: true, trusted_variables: true },
  carrier_command: { brief: true },
  call_ended: { turns: true, variables: true, metrics: true, usage: true, hand_overs: true },
};

const keptEvents: Record<string, SessionEventDescriptor> = {
  ...Object.fromEntries(
    Object.entries<CallEventDescriptor>(CALL_EVENTS).filter(
      ([, { internal, passing }]) => !internal && !passing,
    ),
  ),
  ...OWN_EVENTS,
};

const variants = Object.entries(keptEvents).map(([type, { description, data }]) =>
  z
    .object({
      id: z.string(),
      index: z.number().int().meta({ description: 'Increases within a session; gaps are normal.' }),
      at: timestamp,
      offset_ms: z
        .number()
        .int()
        .meta({ description: 'Milliseconds since the call was answered; 0 before that.' }),
      type: z.literal(type),
      data: data instanceof z.ZodObject ? data.omit(LEFT_OUT[type] ?? {}) : data,
    })
    .meta({ id: `${toPascalCase(type)}Event`, description }),
);
const [first, ...others] = variants;
const described = z.discriminatedUnion('type', [first!, ...others]).meta({ id: 'SessionEvent' });

/**
 * An event as it is read. Described are the types that are known; what a gateway of another version told is shown as
 * it came.
 */
export const sessionEventResponse = z
  .union([
    described,
    described.options[0].extend({ type: z.string(), data: z.record(z.string(), z.unknown()) }),
  ])
  .meta({
    override: ({ jsonSchema }: { jsonSchema: { anyOf?: object[] } }) => {
      const [union] = jsonSchema.anyOf ?? [];
      delete jsonSchema.anyOf;
      Object.assign(jsonSchema, union);
    },
  });

function toPascalCase(type: string): string {
  return type
    .split('_')
    .map((word) => word[0]!.toUpperCase() + word.slice(1))
    .join('');
}
