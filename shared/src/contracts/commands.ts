import { z } from 'zod';
import { transferDestinationSchema } from './agent-config.ts';
import { CARRIER_VERDICTS } from './answer-detection.ts';
import { CONSULT_RESULTS } from './consult.ts';
import { timestampSchema } from './session-values.ts';

export const commandTypeSchema = z.enum([
  'end',
  'say',
  'event',
  'transfer',
  'carrier_result',
  'consult_result',
  'transfer_result',
  'answer_verdict',
  'watch',
  'report_stored',
]);
export type CommandType = z.infer<typeof commandTypeSchema>;

export const COMMAND_ARGS = {
  /** Ends the call: `reason` becomes `hangup_reason` (`api_hangup`, `carrier_hangup`, …). */
  end: z.object({
    ended_by: z.string(),
    hangup_reason: z.string(),
    message: z.string().max(2000).optional(),
  }),
  /** Speaks a text as the agent, after what is being said. */
  say: z.object({ text: z.string().min(1).max(2000) }),
  /** Sets variables, lets the flow react, optionally speaks. */
  event: z.object({
    name: z.string().min(1).max(64),
    variables: z.record(z.string(), z.string()).optional(),
    say: z.string().max(2000).optional(),
  }),
  /** To a destination of the agent that speaks or of its flow, or to one that only this command knows. */
  transfer: z.union([
    z.object({ destination_id: z.string() }),
    z.object({ destination: transferDestinationSchema }),
  ]),
  /** Answer to a `carrier_command` event. */
  carrier_result: z.object({ command_id: z.string(), ok: z.boolean(), code: z.string().optional() }),
  /**
   * How a call went to whom the caller is to be transferred: `accepted` once the two are connected. `code` is the word for a
   * failure, where there is one that says more.
   */
  consult_result: z.object({
    transfer_id: z.string(),
    result: z.enum(CONSULT_RESULTS),
    code: z.string().optional(),
  }),
  /**
   * What became of a transfer that the carrier has taken. `returns`: it could not connect the caller, and brings them back on another
   * connection; `caller_left`: the caller has hung up.
   */
  transfer_result: z.object({
    transfer_id: z.string(),
    result: z.enum(['bridged', 'returns', 'caller_left']),
  }),
  /** What the carrier's machine detection says of who has answered. `beep_at`: when it heard the tone of a recorder. */
  answer_verdict: z.object({
    source: z.literal('carrier'),
    class: z.enum(CARRIER_VERDICTS),
    beep_at: timestampSchema.optional(),
  }),
  /** Somebody follows the call until then at least: it tells what is being said (`words`). */
  watch: z.object({ until: timestampSchema }),
  /** The end report is safely in the database: the gateway may delete its copy. */
  report_stored: z.object({ event_id: z.string() }),
} as const;

/** From a control plane to one gateway. A `command_id` runs once. */
export const gatewayCommandSchema = z.object({
  v: z.literal(1),
  command_id: z.string().min(1).max(64),
  session_id: z.uuid(),
  type: commandTypeSchema,
  args: z.record(z.string(), z.unknown()),
  expires_at: timestampSchema,
});
export type GatewayCommand = z.infer<typeof gatewayCommandSchema>;
