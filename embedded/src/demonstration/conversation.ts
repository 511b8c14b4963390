import type { CallOrder } from './call-order.ts';
import { CALLER_LINES } from './script.ts';

/** Asks for the manager, and waits to be put through: a busy machine takes its time. The stream's end ends the wait. */
export const PUT_THROUGH: CallOrder['steps'] = [{ say: CALLER_LINES.manager }, { pause_ms: 20_000 }];

/** All that a call can hold: two turns, a tool, an interruption that changes its mind, keys, and a blind transfer. */
const CONVERSATION: CallOrder['steps'] = [
  { say: CALLER_LINES.booking },
  { say: CALLER_LINES.day },
  { interrupt: CALLER_LINES.bargeIn, after_ms: 3500 },
  { press: '1#' },
];

/** @param carrier a browser asks for the manager, too, but nobody can put it through */
export function wholeConversation(carrier: CallOrder['carrier']): CallOrder['steps'] {
  return [...CONVERSATION, ...(carrier === 'browser' ? PUT_THROUGH.slice(0, 1) : PUT_THROUGH)];
}

/** What a browser does otherwise than a telephone, in words for whoever reads the call. */
export const BROWSER_NOTES = [
  'a browser has no carrier: the call cannot be transferred, and the agent is offered no tool for it',
  'keys are pressed on the page and travel as events (parley.dtmf), not as tones; the agent cannot send any',
] as const;
