import type { CallOrder } from './call-order.ts';
import { CALLER_LINES } from './script.ts';

/** All that a call can hold: two turns, a tool, an interruption that changes its mind, keys, and a blind transfer. */
export const WHOLE_CONVERSATION: CallOrder['steps'] = [
  { say: CALLER_LINES.booking },
  { say: CALLER_LINES.day },
  { interrupt: CALLER_LINES.bargeIn, after_ms: 3500 },
  { press: '1#' },
  { say: CALLER_LINES.manager },
];

/** What a browser does otherwise than a telephone, in words for whoever reads the call. */
export const BROWSER_NOTES = [
  'a browser has no carrier: the call cannot be transferred, and the agent is offered no tool for it',
  'keys are pressed on the page and travel as events (parley.dtmf), not as tones; the agent cannot send any',
] as const;
