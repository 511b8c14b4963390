import { z } from 'zod';

/** A node entered so often ends the call. */
export const MAX_NODE_ENTRIES = 50;
/** So many nodes entered, without anything of the caller's in between, end the call. */
export const MAX_STEPS_ALONE = 100;
/** How many nodes may wait for a return from global ones. */
export const MAX_RETURNS = 8;
/** A flow's state as JSON. */
export const MAX_FLOW_STATE_BYTES = 16_384;

const count = z.number().int().min(0);

/** How far a node has come that collects values. */
const collectSchema = z.object({
  /** The field that is asked for. */
  at: count,
  /** How often its answer was of no use. */
  attempts: count,
  /** What was understood: the caller is asked whether it is right, or goes on with it. */
  candidate: z.string().max(200).nullable(),
  /** It is the beginning of something that is dictated in pieces. */
  partial: z.boolean(),
  /** Which fields are not to be asked for any more. */
  filled: z.array(z.boolean()).max(20),
});

/**
 * Where a call stands in the flow of its agent. Made so that the largest flow's stays within `MAX_FLOW_STATE_BYTES`; what
 * was collected is in the call's variables.
 */
export const flowStateSchema = z.object({
  /** Whose flow it is. */
  agent_id: z.string().max(64).nullable(),
  node_id: z.string().max(64),
  /**
   * What is awaited in the node. `talking`: the caller or the model; `saying`: the end of a fixed text; `passing`: the end of
   * the text of `edge_id`; `choosing`: the routing model; `running`: a tool; `waiting`: an event or
   * a time; `leading`: that somebody else takes the caller; `collecting`: what the caller answers; `confirming`:
   * their yes to a tool; `done`: nothing any more
   */
  phase: z.enum([
    'talking',
    'saying',
    'passing',
    'choosing',
    'running',
    'waiting',
    'leading',
    'collecting',
    'confirming',
    'done',
  ]),
  /** The edge on whose way the call is. */
  edge_id: z.string().max(64).nullable(),
  /** How often each node was entered, in the order of the definition. */
  entries: z.array(count).max(200),
  /** For how many more turns of the caller each node cannot be entered as a global one, in the order of the definition. */
  cooldowns: z.array(count).max(200),
  /** Nodes that global ones return to, the last one first to be returned to. */
  returns: z.array(z.string().max(64)).max(MAX_RETURNS),
  /** Of a node that collects values, and of those in `returns`, in their order. */
  collect: collectSchema.nullable().default(null),
  collects: z.array(collectSchema.nullable()).max(MAX_RETURNS).default([]),
  /** Turns of the caller in the node. */
  turns: count,
  /** Nodes entered since the caller last did anything. */
  steps: count,
});
export type FlowState = z.output<typeof flowStateSchema>;
