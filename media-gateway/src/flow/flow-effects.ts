import type { TransferDestination } from '@parley/shared/contracts/agent-config';
import type { CollectField, FlowNode } from '@parley/shared/contracts/flow-definition';
import type { FlowState } from '@parley/shared/contracts/flow-state';

/** What happens to a flow. */
export type FlowInput =
  /** @param greeted the agent has greeted already: a node that talks waits for the caller */
  | { type: 'start'; greeted: boolean }
  /** A later leg goes on where the one before stood. */
  | { type: 'resume' }
  /** The caller's turn is over, and written down. @param text its words @param asked what the agent said last */
  | { type: 'turn'; text?: string; asked?: string }
  | { type: 'keys'; digits: string }
  | { type: 'event'; name: string }
  /** So many reminders have gone unanswered. */
  | { type: 'silence'; count: number }
  /** Tools of the model have changed variables. */
  | { type: 'result' }
  /** A fixed text that was asked for was heard, or cannot be said. */
  | { type: 'played' }
  /** The caller was to be brought to somebody else, and is still with the agent. */
  | { type: 'returned' }
  /** The tool that was to run has answered, or failed. @param result its JSON, or its text */
  | { type: 'tool_done'; ok: boolean; result: unknown }
  /** The time of a wait is over. */
  | { type: 'timer' }
  /** The model could not answer. */
  | { type: 'failed' }
  /** What the routing model chose; null: nothing of it. */
  | { type: 'route'; choice: Route | null }
  /** What a model has read in the caller's words. @param values by name; null: there is no answer */
  | { type: 'read'; choice: Route | null; values: Readonly<Record<string, unknown>> | null; said: string };

/** A way that only a model can decide on: along an edge, to a global node, or back from one. */
export type Route = { by: 'edge' | 'global'; id: string } | { by: 'return' };

/** A route with what must be true for it. */
export interface RouteOption {
  route: Route;
  condition: string;
}

/** How a node was come to. */
export type Way = 'start' | 'edge' | 'global' | 'return';

/** Variables that get values. */
export interface Assignment {
  type: 'assign';
  variables: Record<string, string>;
  /** For each value that the flow or its tools have given, the variables that were filled in; others are the caller's own words. */
  filled: Record<string, readonly string[]>;
}

/** What a call does for its flow, in order. */
export type FlowEffect =
  /** From now on the node's prompt, tools and settings hold. */
  | { type: 'enter'; node: FlowNode; by: Way | 'resume'; edgeId?: string }
  | Assignment
  /** A placeholder names a variable that has no value. */
  | { type: 'missing'; name: string }
  /**
   * Says a fixed text; `played` follows when it was heard, or cannot be said.
   * @param assetId what it sounds like; null: a voice says it
   * @param keep other calls say it too
   */
  | { type: 'say'; text: string; interruptible: boolean; assetId: string | null; keep: boolean }
  /** Runs a tool; `tool_done` follows. */
  | { type: 'tool'; toolId: string; arguments: Record<string, unknown> }
  /** Has the model ask the caller whether the tool is to run, and tells of the answer; `unconfirmed`: there is no clear one. */
  | { type: 'ask'; toolId: string; arguments: Record<string, unknown>; again: boolean }
  | { type: 'answered'; answer: 'yes' | 'no' | 'unclear' | 'unconfirmed' }
  /** Waits; `timer` follows, unless something else comes first. @param holdAssetId what the caller hears meanwhile */
  | { type: 'wait'; seconds: number; holdAssetId: string | null }
  /** Transfers the caller. Unless that works or ends the call, `returned` follows. @param to a destination of the agent, by id, or the node's own */
  | { type: 'transfer'; to: string | TransferDestination }
  /** Hands the call over to another agent. If that fails, `returned` follows. */
  | { type: 'hand_over'; node: Extract<FlowNode, { type: 'agent' }> }
  /** The model answers, or goes on, with the prompt of the node. */
  | { type: 'reply' }
  /** A model decides; `route` follows. @param mayStay the node goes on when none is true */
  | { type: 'route'; options: readonly RouteOption[]; mayStay: boolean }
  /**
   * A model reads what the caller has said, and decides; `read` follows.
   * @param fields whose values are looked for @param said the caller's words
   */
  | { type: 'read'; fields: readonly CollectField[]; options: readonly RouteOption[]; said: string }
  /** What the model is to do in the node now. */
  | { type: 'task'; text: string }
  /** Says the message, if there is one, and ends the call. */
  | { type: 'end'; message: string | undefined }
  /** The flow cannot go on. `flow_loop`: it goes round; `flow_stuck`: no edge of a node is true */
  | { type: 'fail'; code: 'flow_loop' | 'flow_stuck' };

export interface FlowStepped {
  state: FlowState;
  effects: FlowEffect[];
}

/** The value of a variable or of a placeholder of the system's. */
export type Lookup = (name: string) => string | undefined;
