import type { CallEventData } from '@parley/shared/contracts/call-events';
import { consultLimitMs } from '@parley/shared/contracts/consult';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Emit } from '../reporting/call-reporter.ts';
import type { AgentActivity } from '../turns/turn-detector.ts';
import { blindLimitMs } from './blind-transfer.ts';
import type { CallPhase } from './call-phase.ts';
import { allDestinations } from './transfer-targets.ts';

/** How often a call is looked at: what is overdue by seconds need not be found within a tick. */
const CHECK_MS = 240;
/** How much longer than its own time-outs everything may take. */
const MARGIN_MS = 5000;
/** How long words of the caller may stay as they are before their turn is closed, beyond the longest pause. */
const TURN_MARGIN_MS = 10_000;
/** How long a caller whose turn was taken waits for a reply to begin. */
const ANSWER_MS = 5000;
/** How long sounds without words may keep a silence from being counted. */
const SOUND_MS = 15_000;
/** As long as a carrier, a goodbye and a lost connection may take; each has a timer of its own. */
const CARRIER_MS = 15_000;
const GOODBYE_MS = 30_000;
const RETURN_MS = 15_000;
/** So many stalls in a row, with nothing that worked in between, are enough. */
const MAX_STALLS = 3;

/** What the parts of a call say of themselves at one moment. */
export interface CallSigns {
  phase: CallPhase;
  agent: AgentActivity;
  /** Whether a reply is thought ahead. */
  prepared: boolean;
  /** How far the agent's utterance has got: it changes while words come or audio is heard. */
  progress: number;
  toolRuns: boolean;
  /** Words of the caller whose turn is open. */
  words: string;
  /** Whether the caller is heard, by words or by sound. */
  sound: boolean;
  /** Number of the caller's turn that nothing followed, undefined when something did. */
  unanswered: number | undefined;
  /** Whether the call takes turns by itself. */
  expected: boolean;
}

/** Who is due to act, and in what. `nobody`: the far end decides itself, or the call is over. */
export type Duty = NonNullable<CallEventData<'stalled'>['due']> | 'nobody';
/** What is done about a duty that is overdue. */
export type Recovery = CallEventData<'stalled'>['recovery'];

/** Who is due in phases in which that depends on nothing else. */
const BY_PHASE: Partial<Record<CallPhase, Duty>> = {
  away: 'return',
  transferring: 'transfer',
  handed_over: 'transfer',
  saying_goodbye: 'goodbye',
  over: 'nobody',
};

/** What is done about each duty that is overdue. */
export const RECOVERIES: Readonly<Record<Exclude<Duty, 'nobody'>, Recovery>> = {
  reply: 'answer_again',
  tool: 'give_up_tool',
  held_reply: 'resume',
  caller_turn: 'close_turn',
  caller: 'count_silence',
  answer: 'answer_again',
  announcement: 'go_on',
  transfer: 'fail_transfer',
  return: 'end',
  goodbye: 'end',
};

/** @returns whose move it is */
export function dutyOf(signs: CallSigns): Duty {
  const { phase, agent } = signs;
  const byPhase = BY_PHASE[phase];
  if (byPhase !== undefined) return byPhase;
  if (agent === 'held') return 'held_reply';
  if (phase === 'announcing' || phase === 'changing_agent') return 'announcement';
  if (signs.toolRuns) return 'tool';
  if (agent !== 'idle') return 'reply';
  if (signs.words !== '') return 'caller_turn';
  if (signs.prepared) return 'reply';
  if (!signs.expected) return 'nobody';
  return signs.unanswered === undefined || phase === 'taking_message' ? 'caller' : 'answer';
}

/** How long each duty may last without any progress, ms. */
export function boundsOf(plan: SessionPlan): Readonly<Record<Duty, number>> {
  const { agent, llm, tools } = plan;
  const { turn_taking: turns, interruption } = agent.config;
  const reply = agent.config.llm.request_timeout_ms * (llm.length + 1) + MARGIN_MS;
  const tool = Math.max(CARRIER_MS, ...tools.map(({ execution }) => execution.timeout_ms)) + MARGIN_MS;
  // Before or behind the wait there is a request to the carrier.
  const waits = allDestinations(plan).map(
    ({ mode, ring_timeout_seconds: seconds }) =>
      CARRIER_MS + (mode === 'warm' ? consultLimitMs(seconds) : blindLimitMs(seconds)),
  );
  return {
    reply,
    tool,
    held_reply: interruption.false_after_ms + MARGIN_MS,
    caller_turn: turns.max_endpointing_ms + TURN_MARGIN_MS,
    caller: SOUND_MS,
    answer: ANSWER_MS,
    announcement: reply + tool,
    transfer: Math.max(CARRIER_MS, ...waits) + MARGIN_MS,
    return: RETURN_MS + MARGIN_MS,
    goodbye: GOODBYE_MS + MARGIN_MS,
    nobody: Infinity,
  };
}

/** The call that is watched. */
export interface WatchedCall {
  signs(): CallSigns;
  recover(recovery: Recovery): void;
}

/**
 * Sees that neither side of a call does what it is due to do, says so, and gets the call on. Everything that is watched
 * has a time-out of its own that comes first: this is for what fails in ways that nobody thought of.
 */
export class Watchdog {
  #bounds: Readonly<Record<Duty, number>>;
  readonly #emit: Emit;
  readonly #call: WatchedCall;
  #duty: Duty = 'nobody';
  #progress: number | string = 0;
  #since = 0;
  #checkAt = 0;
  /** Stalls since something last worked. */
  #stalls = 0;
  /** The caller's turn that was answered once more; it is not answered a third time. */
  #retried: number | undefined;

  constructor(deps: { plan: SessionPlan; emit: Emit; call: WatchedCall }) {
    this.#bounds = boundsOf(deps.plan);
    this.#emit = deps.emit;
    this.#call = deps.call;
  }

  /** Another agent, with time-outs of its own, is in the plan. */
  agentChanged(plan: SessionPlan): void {
    this.#bounds = boundsOf(plan);
  }

  tick(now: number): void {
    if (now < this.#checkAt) return;
    this.#checkAt = now + CHECK_MS;
    const signs = this.#call.signs();
    const due = dutyOf(signs);
    const duty = due === 'answer' && signs.unanswered === this.#retried ? 'caller' : due;
    const progress = duty === 'caller_turn' ? signs.words : signs.progress;
    if (duty !== this.#duty || progress !== this.#progress) {
      this.#duty = duty;
      this.#progress = progress;
      this.#since = now;
      // Whatever was wrong: the agent has said its piece.
      if (duty === 'caller') this.#stalls = 0;
    } else if (now - this.#since >= this.#bounds[duty]) this.#overdue(duty, signs, now);
  }

  #overdue(duty: Duty, signs: CallSigns, now: number): void {
    // Silence is counted elsewhere, unless a sound stands in its way.
    if (duty === 'nobody' || (duty === 'caller' && !signs.sound)) return;
    const waitedMs = Math.round(now - this.#since);
    this.#since = now;
    if (duty === 'answer') this.#retried = signs.unanswered;
    if (duty !== 'caller') this.#stalls++;
    const recovery =
      this.#stalls < MAX_STALLS ? RECOVERIES[duty] : duty === 'goodbye' ? 'end' : 'say_goodbye';
    this.#emit('stalled', { due: duty, waited_ms: waitedMs, recovery });
    this.#call.recover(recovery);
  }
}
