import { CONSULT_TALK_MS } from '@parley/shared/contracts/consult';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { CallEndReason } from '@parley/shared/contracts/session-values';
import { builtInSentences } from '../speech/built-in-sentences.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallerTurns, CallerWords } from '../turns/caller-turns.ts';
import { yesOrNo, type YesNo } from '../turns/yes-no.ts';
import type { AgentKeys } from './agent-keys.ts';
import type { CallClock } from './call-clock.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CarrierRequests } from './carrier-requests.ts';

/** So long after the question it is asked again, and so often it is asked in all. */
const REPEAT_AFTER_MS = 8000;
const MAX_QUESTIONS = 3;
/** Behind an extension somebody is told who says something, or after so much silence. */
const EXTENSION_SILENCE_MS = 6000;
const ACCEPT_KEY = '1';

const DECLINED: CallEndReason = { ended_by: 'caller', hangup_reason: 'caller_hangup' };
const NO_ANSWER: CallEndReason = { ended_by: 'system', hangup_reason: 'silence' };

/** What is asked of the call. */
export interface ConsultedCall {
  speech: AgentSpeech;
  turns: CallerTurns;
  keys: AgentKeys;
  hearing: { readonly lastSpeechAt: number };
  end(reason: CallEndReason): void;
  /** The carrier has connected whom was called with the caller. */
  onBridged(): void;
  /** It has not, and they are gone. */
  onLost(): void;
}

/**
 * The call to somebody whom a caller is to be transferred to: presses the extension, tells of the caller, and asks for key 1 or a
 * yes. Nothing that is said here is answered by a model.
 */
export class ConsultTalk {
  readonly #consult: NonNullable<SessionPlan['consult']>;
  readonly #language: string;
  readonly #question: string;
  readonly #clock: CallClock;
  readonly #phase: PhaseOfCall;
  readonly #carrier: CarrierRequests;
  readonly #call: ConsultedCall;
  #endsAt = Infinity;
  /** When the briefing begins though nobody has said anything; monotonic ms. */
  #tellsAt = Infinity;
  /** Since when the question has been heard; monotonic ms. */
  #askedAt: number | undefined;
  #questions = 0;
  #isDecided = false;

  constructor(deps: {
    consult: NonNullable<SessionPlan['consult']>;
    /** BCP 47 tag. */
    language: string;
    clock: CallClock;
    phase: PhaseOfCall;
    carrier: CarrierRequests;
    call: ConsultedCall;
  }) {
    this.#consult = deps.consult;
    this.#language = deps.language;
    this.#question = builtInSentences(deps.language).takeCaller;
    this.#clock = deps.clock;
    this.#phase = deps.phase;
    this.#carrier = deps.carrier;
    this.#call = deps.call;
  }

  /** Somebody, or something, has answered. */
  begin(): void {
    this.#endsAt = this.#clock.monotonic() + CONSULT_TALK_MS;
    this.#listen();
    if (this.#consult.extension !== null) void this.#dialExtension(this.#consult.extension);
  }

  /** Nothing is thought of before. Called by who finds out whether a person has answered. */
  prepare(): void {}

  /** A person has answered. Called by who finds that out. */
  greetAnswerer(): void {
    this.#listen();
    this.#ask();
  }

  /** Takes words of the far end. @returns whether they are an answer to what was asked here */
  take({ text }: CallerWords): boolean {
    if (this.#tellsAt !== Infinity) this.#ask();
    else if (this.#questions === 0) return false;
    else if (this.#askedAt !== undefined) this.#answered(yesOrNo(text, this.#question, this.#language));
    return true;
  }

  /** Takes a key of the far end, at any time. */
  key(digit: string): void {
    if (digit === ACCEPT_KEY) this.#answered('yes');
    else if (this.#askedAt !== undefined) this.#answered('unclear');
  }

  /** There is nothing else to be said here. */
  respond(): void {}

  tick(now: number): void {
    if (this.#isDecided) return;
    if (now >= this.#endsAt) this.#end(NO_ANSWER);
    else if (now >= this.#tellsAt) this.#ask();
    else if (this.#askedAt !== undefined) {
      const silentSince = Math.max(this.#askedAt, this.#call.hearing.lastSpeechAt);
      if (now - silentSince >= REPEAT_AFTER_MS) this.#askAgain(NO_ANSWER);
    }
  }

  /** The call is over. */
  close(): void {
    this.#isDecided = true;
  }

  #listen(): void {
    this.#call.turns.setDetection({ respond: false, interrupt: true, listen: true });
  }

  async #dialExtension(extension: string): Promise<void> {
    const wait = (ms: number) => new Promise<void>((resolve) => void this.#clock.setTimeout(resolve, ms));
    await this.#call.keys.dial(extension, wait);
    if (!this.#isDecided && this.#questions === 0)
      this.#tellsAt = this.#clock.monotonic() + EXTENSION_SILENCE_MS;
  }

  #answered(answer: YesNo): void {
    if (this.#isDecided) return;
    if (answer === 'yes') void this.#accept();
    else if (answer === 'no') this.#end(DECLINED);
    else this.#askAgain(DECLINED);
  }

  #askAgain(otherwise: CallEndReason): void {
    if (this.#questions < MAX_QUESTIONS) this.#ask();
    else this.#end(otherwise);
  }

  /** Whoever comes to the telephone late hears the briefing, too: it is part of each question. */
  #ask(): void {
    if (this.#isDecided) return;
    const number = ++this.#questions;
    this.#tellsAt = Infinity;
    this.#askedAt = undefined;
    const { brief } = this.#consult;
    const said = this.#call.speech.say(brief === '' ? this.#question : `${brief} ${this.#question}`, 'say', {
      interruptible: false,
    });
    void said.done.then(() => {
      if (number === this.#questions) this.#askedAt = this.#clock.monotonic();
    });
  }

  async #accept(): Promise<void> {
    this.#isDecided = true;
    if (this.#phase.on('transfer') !== 'take') return;
    this.#call.speech.cancel();
    this.#phase.on('transfer_announced');
    const { transfer_id } = this.#consult;
    const { ok } = await this.#carrier.ask('bridge', { transfer_id });
    const answer = this.#phase.on(ok ? 'transfer_bridged' : 'transfer_failed');
    if (answer === 'end') this.#call.onBridged();
    else if (answer === 'far_end_left') this.#call.onLost();
    else if (answer === 'go_on') this.#call.end({ ended_by: 'system', failure_reason: 'carrier_error' });
  }

  #end(reason: CallEndReason): void {
    this.#isDecided = true;
    this.#call.end(reason);
  }
}
