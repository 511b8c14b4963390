import { z } from 'zod';
import { answerClassSchema } from './answer-detection.ts';
import { nanoSchema } from './call-prices.ts';
import { flowStateSchema } from './flow-state.ts';
import { audioEncodingSchema, MEMORY_KINDS, timestampSchema } from './session-values.ts';
import { recordingResultSchema } from './recordings.ts';
import { MAX_TIMED_WORDS, timedWordSchema, turnSchema } from './turn.ts';
import { usageSchema } from './usage.ts';

/** A word for programs, not a sentence: an open list. */
const code = z.string().min(1);
/** Variables of the call that have changed since they were last told: the next leg begins with them. */
const changed = {
  variables: z.record(z.string(), z.string()).optional(),
  /** Those of them that trusted sources have given, see `trusted_variables` of the plan; the others are not trusted any more. */
  trusted_variables: z.array(z.string()).optional(),
};
const pressed = z.string().max(64);

const callStartedData = z.object({
  answered_at: timestampSchema,
  carrier_call_id: z.string().optional(),
  stream_id: z.string().optional(),
  encoding: audioEncodingSchema,
  sample_rate: z.number().int(),
  /** Providers that are emulators: never empty without the operator being told. */
  emulated: z.array(z.string()),
});

const turnDecisionData = z.object({
  action: z.enum(['stop', 'interrupt', 'ignore', 'resume', 'wait', 'answer', 'cut_in']),
  rule: code,
  /** What the caller had said by then. */
  words: z.string().optional(),
  /** How long the agent waits. */
  timer_ms: z.number().optional(),
});

const toolCallData = z.object({
  /** The model's own id of the call: some models use one twice. */
  tool_call_id: z.string(),
  /** Null for tools that are built in or the client's own. */
  tool_id: z.string().nullable(),
  name: z.string(),
  /** Who runs it; `unknown` when the model made the name up. Absent in events of earlier versions. */
  kind: z.enum(['webhook', 'mcp', 'app', 'built_in', 'client', 'unknown']).optional(),
});

/**
 * How a tool call ended. `declined`: the caller said no; `unconfirmed`: no clear yes; `cancelled`: the call ended or was
 * transferred first; `refused`: it was not run because of how it was called.
 */
export const TOOL_OUTCOMES = [
  'succeeded',
  'failed',
  'timed_out',
  'declined',
  'unconfirmed',
  'cancelled',
  'refused',
] as const;

const dtmfData = z.discriminatedUnion('direction', [
  /** One key of the caller. */
  z.object({ direction: z.literal('received'), digit: pressed }),
  /** What the caller entered, taken as a whole. */
  z.object({ direction: z.literal('entry'), digits: pressed }),
  /** Keys that the agent pressed. */
  z.object({ direction: z.literal('sent'), digits: pressed }),
]);

const transferData = z.object({
  transfer_id: z.string(),
  /** `ringing` and `briefing`: of whom a caller waits for who is to be told first. */
  phase: z.enum(['begun', 'ringing', 'briefing', 'bridged', 'failed']),
  destination_id: z.string().optional(),
  code: code.optional(),
});

const handOverData = z.object({
  handover_id: z.string(),
  phase: z.enum(['begun', 'done', 'failed']),
  destination_id: z.string().optional(),
  agent_id: z.string(),
  /** Of the agent that has taken over. */
  version: z.number().int().nullable().optional(),
  code: code.optional(),
});

/** Of what is said to whom a caller is transferred to. */
export const MAX_BRIEF_LENGTH = 2000;

const carrierCommandData = z.object({
  command_id: z.string(),
  /**
   * `consult`: somebody is called and told of the caller, who waits; `consult_cancel`: the caller waits no more; `bridge`, of
   * the call to them: they take the caller.
   */
  action: z.enum(['hangup', 'transfer', 'send_dtmf', 'consult', 'consult_cancel', 'bridge']),
  args: z.object({
    digits: z.string().max(64).optional(),
    to: z.string().max(64).optional(),
    caller_id: z.string().max(64).optional(),
    ring_timeout_seconds: z.number().int().optional(),
    transfer_id: z.string().optional(),
    destination_id: z.string().max(64).optional(),
    /** Keys that are pressed when the other side has answered. */
    extension: z.string().max(32).optional(),
  }),
  /** What is said to whom the caller is transferred to; not stored. */
  brief: z.string().max(MAX_BRIEF_LENGTH).optional(),
});
export type CarrierCommandData = z.infer<typeof carrierCommandData>;

const flowNodeData = z.object({
  node_id: z.string(),
  by: z.enum(['start', 'edge', 'global', 'return']).meta({
    description:
      'How the call came to the node: `start`, along an `edge`, from anywhere (`global`), or back from such a node (`return`).',
  }),
  edge_id: z.string().optional(),
  /** Where the call now stands, for a later leg. */
  state: flowStateSchema,
  ...changed,
});

const stalledData = z.object({
  /** Whose move it was: the agent's, a tool's, the caller's, the carrier's. */
  due: z.enum([
    'reply',
    'tool',
    'held_reply',
    'caller_turn',
    'caller',
    'answer',
    'announcement',
    'transfer',
    'return',
    'goodbye',
  ]),
  /** How long nothing came of it. */
  waited_ms: z.number().int(),
  recovery: z.enum([
    'answer_again',
    'give_up_tool',
    'resume',
    'close_turn',
    'count_silence',
    'go_on',
    'fail_transfer',
    'say_goodbye',
    'end',
  ]),
});

/** A distribution of milliseconds over the turns of a call. */
export const latencyStatsSchema = z.object({
  count: z.number().int(),
  avg: z.number(),
  p50: z.number(),
  p90: z.number(),
  p95: z.number(),
  max: z.number(),
});

export const metricsSchema = z.object({
  turns: z.number().int(),
  turn_e2e_ms: latencyStatsSchema.nullable(),
  stt_final_ms: latencyStatsSchema.nullable(),
  llm_first_token_ms: latencyStatsSchema.nullable(),
  tts_first_audio_ms: latencyStatsSchema.nullable(),
  knowledge_ms: latencyStatsSchema.nullable(),
  tool_ms: latencyStatsSchema.nullable(),
  caller_reply_ms: latencyStatsSchema.nullable(),
  /** Turns whose reply was begun before they were over, and what that saved. */
  thought_ahead_ms: latencyStatsSchema.nullable().default(null),
});
export type CallMetrics = z.infer<typeof metricsSchema>;

/**
 * How a call ended and all that was said: complete in itself, so that a session can be closed, analysed and
 * delivered from it alone, whatever was lost before. At most `MAX_REPORT_BYTES` as JSON.
 */
export const callReportSchema = z.object({
  answered_at: timestampSchema.nullable(),
  ended_at: timestampSchema,
  ended_by: z.string(),
  hangup_reason: z.string().optional(),
  failure_reason: z.string().optional(),
  duration_ms: z.number().int(),
  agent_talk_ms: z.number().int(),
  transfer_ms: z.number().int(),
  turns: z.array(turnSchema),
  /** Older turns were left out to keep the bound; they are in their events. */
  turns_truncated: z.boolean().default(false),
  metrics: metricsSchema,
  usage: usageSchema,
  /** Each time that another agent took the call over in this leg, in order: what of the usage was before it. */
  hand_overs: z.array(z.object({ handover_id: z.string(), usage: usageSchema })).optional(),
  variables: z.record(z.string(), z.string()),
  language: z.string().nullable(),
  recording: recordingResultSchema.optional(),
  last_index: z.number().int(),
});
export type CallReport = z.infer<typeof callReportSchema>;

export const MAX_REPORT_BYTES = 1024 * 1024;

/** One type of event. */
export interface CallEventDescriptor {
  /** A sentence for whoever reads the events of a session. */
  description: string;
  /** What becomes of it when the queue to the event log is full. */
  whenFull: 'keep' | 'drop' | 'drop_first';
  /** Only for the control plane: neither stored with the session's events nor shown. */
  internal?: true;
  /** Told to those who follow the session, and never stored. */
  passing?: true;
  data: z.ZodType<Record<string, unknown>>;
}

/** Everything a gateway reports of a call, by type. */
export const CALL_EVENTS = {
  call_started: {
    description: 'Media has started. The first event of each leg.',
    whenFull: 'keep',
    data: callStartedData,
  },
  turn: {
    description:
      'The caller or the agent said something. The event is repeated, with the same turn, when its text changes.',
    whenFull: 'keep',
    data: turnSchema.extend({
      /** In order, where their times are known. Words beyond the bounds cost the turn nothing but its words. */
      words: z.array(timedWordSchema).max(MAX_TIMED_WORDS).optional().catch(undefined),
      ...changed,
    }),
  },
  turn_decision: {
    description: 'A turn-taking decision: why the agent spoke, waited, stopped, ignored a sound or resumed.',
    whenFull: 'drop_first',
    data: turnDecisionData,
  },
  interruption: {
    description: 'The caller interrupted the agent.',
    whenFull: 'drop',
    data: z.object({
      turn_index: z.number().int().min(0).optional(),
      /** Of what the agent was saying. */
      heard_ms: z.number(),
    }),
  },
  tool_started: {
    description: 'The model called a tool.',
    whenFull: 'drop',
    /** JSON as the model wrote it, shortened when it is long. */
    data: toolCallData.extend({ arguments: z.string() }),
  },
  tool_confirmation: {
    description: 'A tool waits for a yes of the caller, or the answer was found.',
    whenFull: 'drop',
    /** `asked`: the model was told to ask; `unclear`: neither a yes nor a no, so that it asks once more. */
    data: toolCallData.extend({ answer: z.enum(['asked', 'yes', 'no', 'unclear']) }),
  },
  tool_finished: {
    description: 'A tool returned a result, or failed.',
    whenFull: 'keep',
    data: toolCallData.extend({
      ok: z.boolean(),
      /** Absent in events of earlier versions. */
      outcome: z.enum(TOOL_OUTCOMES).optional(),
      duration_ms: z.number(),
      /** Of the HTTP answer. */
      status: z.number().int().optional(),
      code: code.optional(),
      /** What the model was told, shortened when it is long. */
      result: z.string(),
    }),
  },
  knowledge: {
    description: 'Documents of the attached knowledge bases were searched.',
    whenFull: 'drop',
    data: z.object({
      mode: z.enum(['auto', 'tool']),
      duration_ms: z.number(),
      /** What the model was told, best first. */
      passages: z.array(
        z.object({ chunk_id: z.string(), file_id: z.string(), file_name: z.string(), score: z.number() }),
      ),
    }),
  },
  dtmf: {
    description: 'Keys were pressed (DTMF), by the caller or the agent.',
    whenFull: 'drop',
    data: dtmfData,
  },
  transfer: {
    description: 'Progress of a transfer of the caller to a person.',
    whenFull: 'keep',
    data: transferData,
  },
  handover: {
    description: 'Progress of a hand-over of the call to another agent, which goes on with it.',
    whenFull: 'keep',
    data: handOverData,
  },
  voicemail: {
    description: 'The caller has left a message, since nobody could be reached.',
    whenFull: 'keep',
    data: z.object({
      /** Of the turn that holds its words; absent where none were understood. */
      turn_index: z.number().int().min(0).optional(),
      /** Until the caller's last sound. */
      duration_ms: z.number().int(),
    }),
  },
  guardrail: {
    description:
      'A guardrail of the agent has refused something, or could not judge it in time. What it has judged to be harmless is not told.',
    whenFull: 'keep',
    data: z.object({
      /** What the caller said, or what the agent was about to say. */
      rule: z.enum(['prompt_injection', 'blocked_topics']),
      /** `passed`: it was answered or said, since nothing was found against it. */
      verdict: z.enum(['refused', 'passed']),
      /** In the words of `guardrails.blocked_topics`. */
      topic: z.string().optional(),
      /** There was no verdict: it came too late, the model failed, or its answer was none. */
      undecided: z.enum(['late', 'failed', 'unclear']).optional(),
      duration_ms: z.number().int(),
    }),
  },
  language: {
    description: 'The call has changed to another language: it is understood, answered and spoken in it.',
    whenFull: 'keep',
    data: z.object({
      /** BCP 47 tags. */
      language: z.string(),
      previous_language: z.string(),
      /** The session's variable `language`, what the caller said, or the tool `set_language`. */
      changed_by: z.enum(['variable', 'detection', 'tool']),
    }),
  },
  carrier_command: {
    description: 'The carrier must execute a command, once for each `command_id`.',
    whenFull: 'keep',
    data: carrierCommandData,
  },
  command_result: {
    description: 'The outcome of a command to the gateway.',
    whenFull: 'keep',
    data: z.object({ command_id: z.string(), ok: z.boolean(), code: code.optional() }),
  },
  recording: {
    description: 'The outcome of the recording.',
    whenFull: 'keep',
    data: recordingResultSchema,
  },
  recording_consent: {
    description: 'The caller was told of the recording, or has answered whether they consent to it.',
    whenFull: 'keep',
    data: z.object({
      mode: z.enum(['announce', 'ask']),
      /** Only after `told` and `yes` the call is recorded. */
      answer: z.enum(['told', 'yes', 'no', 'unclear', 'silent']),
    }),
  },
  remember: {
    description: 'The agent noted something about the caller for later calls.',
    whenFull: 'keep',
    data: z.object({ kind: z.enum(MEMORY_KINDS), content: z.string().min(1).max(2000) }),
  },
  do_not_call: {
    description: 'The caller asked not to be called again.',
    whenFull: 'keep',
    data: z.object({ reason: z.string().min(1).max(500) }),
  },
  flow_node: {
    description: 'The call has come to a node of its flow.',
    whenFull: 'keep',
    data: flowNodeData,
  },
  answer_class: {
    description: 'Who or what answered an outbound call. A later one corrects an earlier one.',
    whenFull: 'keep',
    data: answerClassSchema,
  },
  warning: {
    description: 'An error from which the call recovered.',
    whenFull: 'drop',
    data: z.object({
      code,
      /**
       * Of the variable that is missing, of the tool that is not run again because it fails each time, or the carrier's id
       * of a recording of its own.
       */
      name: z.string().optional(),
      provider: z.string().optional(),
      fault: z.string().optional(),
      error: z.string().optional(),
      /** In the carrier's words. */
      reason: z.string().nullable().optional(),
    }),
  },
  stalled: {
    description:
      'Neither side did what it was due to do within its time. `recovery` is what the call did about it.',
    whenFull: 'drop',
    data: stalledData,
  },
  error: {
    description: 'An error from which the call did not recover.',
    whenFull: 'drop',
    data: z.object({ code, fault: z.string().optional() }),
  },
  cost: {
    description: 'What the call has cost so far, over all legs. A later one replaces an earlier one.',
    whenFull: 'drop_first',
    internal: true,
    data: z.object({ amount: nanoSchema }),
  },
  words: {
    description:
      'What a side has said of its unfinished turn, while somebody follows the session. Replaces the one before.',
    whenFull: 'drop_first',
    passing: true,
    data: z.object({ role: z.enum(['caller', 'agent']), text: z.string(), final: z.literal(false) }),
  },
  call_ended: {
    description: 'The call has ended. The last event of each leg, with the report of the whole leg.',
    whenFull: 'keep',
    data: callReportSchema,
  },
} as const satisfies Record<string, CallEventDescriptor>;

export type CallEventType = keyof typeof CALL_EVENTS;
/** As a gateway tells it: what has a default may be missing. */
export type CallEventData<T extends CallEventType> = z.input<(typeof CALL_EVENTS)[T]['data']>;

/** Envelope of everything a gateway reports. `id` and `index` are given when it happens and kept over retries. */
export const callEventSchema = z.object({
  v: z.literal(1),
  id: z.string().regex(/^evt_[0-9a-z]{26}$/),
  session_id: z.uuid(),
  gateway_id: z.string(),
  claim_id: z.string(),
  /** Rises by one within a leg, from the plan's `first_event_index`. */
  index: z.number().int().min(0),
  at: timestampSchema,
  /** From `answered_at`. */
  offset_ms: z.number().int(),
  type: z.string().min(1).max(64),
  data: z.record(z.string(), z.unknown()),
});
export type CallEvent = z.infer<typeof callEventSchema>;

/** An event of a known type whose data is as its type promises. */
export type KnownCallEvent = {
  [T in CallEventType]: Omit<CallEvent, 'type' | 'data'> & {
    type: T;
    data: z.output<(typeof CALL_EVENTS)[T]['data']>;
  };
}[CallEventType];

export function isCallEventType(type: string): type is CallEventType {
  return Object.hasOwn(CALL_EVENTS, type);
}

/** @returns undefined for an unknown type and for data that breaks its schema: a gateway of another version sent it */
export function parseCallEvent(event: CallEvent): KnownCallEvent | undefined {
  if (!isCallEventType(event.type)) return undefined;
  const { data } = CALL_EVENTS[event.type].data.safeParse(event.data);
  // The compiler cannot tell that type and data belong together.
  return data && ({ ...event, data } as KnownCallEvent);
}

/** Events that are never dropped, however full the queue to the event log is. */
export const NEVER_DROPPED = typesThat('keep');
/** Events that go before all others. */
export const DROPPED_FIRST = typesThat('drop_first');

function typesThat(whenFull: CallEventDescriptor['whenFull']): ReadonlySet<string> {
  return new Set(
    Object.entries<CallEventDescriptor>(CALL_EVENTS).flatMap(([type, event]) =>
      event.whenFull === whenFull ? [type] : [],
    ),
  );
}

/** Unsent events a gateway keeps; beyond, those of `DROPPED_FIRST` are dropped first and counted. */
export const MAX_UNSENT_EVENTS = 10_000;
