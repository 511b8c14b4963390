import type { AgentSpeech, AnswerOrder } from '../speech/agent-speech.ts';
import type { FlowRun } from './flow-run.ts';
import type { Greeting } from './greeting.ts';
import type { RecordingConsent } from './recording-consent.ts';
import type { Transcript } from './transcript.ts';

/** Decides what the agent does when it is its move: as its flow says, or, without one, as its model does. */
export class Dialogue {
  readonly #flow: FlowRun;
  readonly #greeting: Greeting;
  readonly #consent: RecordingConsent;
  readonly #speech: AgentSpeech;
  readonly #transcript: Transcript;

  constructor(deps: {
    flow: FlowRun;
    greeting: Greeting;
    consent: RecordingConsent;
    speech: AgentSpeech;
    transcript: Transcript;
  }) {
    this.#flow = deps.flow;
    this.#greeting = deps.greeting;
    this.#consent = deps.consent;
    this.#speech = deps.speech;
    this.#transcript = deps.transcript;
  }

  /** The call begins. */
  begin(): void {
    if (this.#consent.isDue) {
      this.#consent.begin(() => this.#afterConsent());
      return;
    }
    this.#start();
    if (this.#greeting.exists || !this.#flow.exists) this.#greeting.begin();
  }

  /** Another leg of the call goes on. */
  resume(): void {
    if (this.#flow.hasBegun) this.#flow.resume();
    else this.#flow.take({ type: 'start', greeted: true });
  }

  /** Greets who has answered a call that the agent made. @param heard they have said something */
  greetAnswerer(heard: boolean): void {
    if (this.#consent.isDue) {
      this.#consent.begin(() => this.#afterConsent());
      return;
    }
    if (!this.#flow.exists) {
      this.#greeting.greetAnswerer(heard);
      return;
    }
    if (heard && (!this.#greeting.exists || this.#greeting.waitsForCaller)) {
      if (this.#flow.beginsTalking) this.#flow.take({ type: 'start', greeted: true });
      this.respond();
      return;
    }
    this.#start();
    if (this.#greeting.exists) this.#greeting.greetAnswerer(heard);
  }

  /** The caller was told of the recording, or has answered. */
  #afterConsent(): void {
    this.#start();
    if (this.#greeting.exists) this.#greeting.greetAfterConsent();
    else if (!this.#flow.exists && this.#transcript.awaitsAnswer) this.#speech.answer();
  }

  /** The flow begins; one whose first node is not for talking waits until the greeting was heard. */
  #start(): void {
    const greets = this.#greeting.exists;
    if (!greets || this.#flow.beginsTalking) this.#flow.take({ type: 'start', greeted: greets });
  }

  /** Number of the caller's turn that the agent owes an answer; undefined: none. */
  get unansweredTurn(): number | undefined {
    return this.#flow.isWaiting ? undefined : this.#transcript.unanswered;
  }

  /** The caller's turn is over, and written down. @param endedAt monotonic ms */
  turn(endedAt: number): void {
    if (!this.#flow.exists) this.#speech.answerTurn(endedAt);
    else if (!this.#begun()) this.#flow.take({ type: 'turn' }, { endedAt });
  }

  /** The far end wants the agent to say something. */
  respond(order: AnswerOrder = {}): void {
    const { textOnly } = order;
    if (!this.#flow.exists || !this.#transcript.awaitsAnswer) this.#speech.answer(order);
    else if (!this.#begun()) this.#flow.take({ type: 'turn' }, textOnly === undefined ? {} : { textOnly });
  }

  /** The caller has entered keys. */
  keys(digits: string): void {
    const note = `The caller pressed these keys: ${digits}`;
    if (!this.#flow.exists) {
      this.#speech.answer({ note });
      return;
    }
    this.#transcript.note(note);
    if (!this.#begun()) this.#flow.take({ type: 'keys', digits });
  }

  /** An event came from outside, and is noted. */
  event(name: string): void {
    this.#begun();
    this.#flow.event(name);
  }

  /** So many reminders have gone unanswered. @returns whether that led anywhere */
  unanswered(count: number): boolean {
    return this.#flow.take({ type: 'silence', count });
  }

  /** The model could not answer. @returns whether that led anywhere */
  failed(): boolean {
    return this.#flow.take({ type: 'failed' });
  }

  /** All of an utterance was heard. */
  heard(): void {
    if (!this.#begun()) this.#flow.heard();
  }

  /** Another agent has taken the call over. @param answers it says something at once */
  agentChanged(answers: boolean): void {
    this.#flow.agentChanged();
    if (this.#flow.exists) this.#flow.take({ type: 'start', greeted: !answers });
    else if (answers) this.#speech.answer();
  }

  /** Begins a flow that waited for the greeting. @returns whether it did */
  #begun(): boolean {
    if (!this.#flow.exists || this.#flow.hasBegun) return false;
    return this.#flow.take({ type: 'start', greeted: true });
  }
}
