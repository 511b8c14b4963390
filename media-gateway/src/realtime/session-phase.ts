/**
 * Where a realtime session stands: its token is being redeemed; it has its plan and its call is being opened; it has
 * its call; it is over.
 */
export const SESSION_PHASES = ['redeeming', 'opening', 'live', 'over'] as const;
export type SessionPhase = (typeof SESSION_PHASES)[number];

/** The inputs of a session, from the client, the gateway and the call. */
export const SESSION_INPUTS = [
  /** An event of the client, as the protocol has it. */
  'event',
  /** An event of the client that is none of the protocol. */
  'fault',
  /** The gateway is done with this client: not admitted, or more than it may send. */
  'refusal',
  /** Nothing came from the client for a long time. */
  'silence',
  /** The token is redeemed. */
  'plan',
  /** The call has begun. */
  'call',
  /** The socket is over: closed by the client, lost, or closed for a limit it broke. */
  'gone',
  /** The call has ended this connection. */
  'hang_up',
] as const;
export type SessionInput = (typeof SESSION_INPUTS)[number];

export type SessionAction =
  /** Waits for the call. */
  | 'keep'
  | 'handle'
  /** Answered by an `error` event. */
  | 'answer_fault'
  /** The client gets an `error` event and is closed; no call begins. */
  | 'refuse'
  /** The client is closed, and the call loses its far end. */
  | 'expel'
  | 'end_call'
  | 'open'
  | 'join'
  /** The call, if there is one, loses its far end. */
  | 'leave'
  /** The client is closed. */
  | 'close'
  | 'ignore'
  /** An input that cannot come in this phase: a bug. */
  | 'fail';

interface Step {
  action: SessionAction;
  to: SessionPhase;
}

const stay = (phase: SessionPhase) => (action: SessionAction) => ({ action, to: phase });
const end = (action: SessionAction): Step => ({ action, to: 'over' });

const redeeming = stay('redeeming');
const opening = stay('opening');
const live = stay('live');
const over = stay('over');

const STEPS: Readonly<Record<SessionPhase, Readonly<Record<SessionInput, Step>>>> = {
  redeeming: {
    event: redeeming('keep'),
    fault: redeeming('answer_fault'),
    refusal: end('refuse'),
    silence: end('refuse'),
    plan: { action: 'open', to: 'opening' },
    call: redeeming('fail'),
    gone: end('leave'),
    hang_up: redeeming('fail'),
  },
  opening: {
    event: opening('keep'),
    fault: opening('answer_fault'),
    refusal: end('refuse'),
    silence: end('refuse'),
    plan: opening('fail'),
    call: { action: 'join', to: 'live' },
    gone: end('leave'),
    hang_up: end('close'),
  },
  live: {
    event: live('handle'),
    fault: live('answer_fault'),
    refusal: end('expel'),
    silence: live('end_call'),
    plan: live('fail'),
    call: live('fail'),
    gone: end('leave'),
    hang_up: end('close'),
  },
  over: {
    event: over('ignore'),
    fault: over('ignore'),
    refusal: over('ignore'),
    silence: over('ignore'),
    // A later leg opens without its client: it may come back once more.
    plan: over('open'),
    call: over('ignore'),
    gone: over('ignore'),
    hang_up: over('ignore'),
  },
};

/** The action on an input in a phase, and the phase that follows. Pure. */
export function nextStep(phase: SessionPhase, input: SessionInput): Step {
  return STEPS[phase][input];
}
