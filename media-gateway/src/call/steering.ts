import type { CallEndReason } from '@parley/shared/contracts/session-values';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { AgentSpeech } from '../speech/agent-speech.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { CallerTurns, TurnDetection } from '../turns/caller-turns.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { CallTools } from './call-tools.ts';
import type { CallSteering } from './call.ts';
import type { Transcript } from './transcript.ts';

/** What a far end does to the call itself. */
interface SteeredCall {
  end(reason: CallEndReason): void;
  /** The caller has given a sign of life. */
  onSign(): void;
  respond(options: { textOnly?: boolean }): void;
}

/** Lets a far end take part in the turns of a call until the call is over. */
export class Steering implements CallSteering {
  readonly #phase: PhaseOfCall;
  readonly #transcript: Transcript;
  readonly #speech: AgentSpeech;
  readonly #turns: CallerTurns;
  readonly #tools: CallTools;
  readonly #voices: CallVoices;
  readonly #providers: CallProviders;
  readonly #call: SteeredCall;

  constructor(deps: {
    phase: PhaseOfCall;
    transcript: Transcript;
    speech: AgentSpeech;
    turns: CallerTurns;
    tools: CallTools;
    voices: CallVoices;
    providers: CallProviders;
    call: SteeredCall;
  }) {
    this.#phase = deps.phase;
    this.#transcript = deps.transcript;
    this.#speech = deps.speech;
    this.#turns = deps.turns;
    this.#tools = deps.tools;
    this.#voices = deps.voices;
    this.#providers = deps.providers;
    this.#call = deps.call;
  }

  end(reason: CallEndReason): void {
    this.#call.end(reason);
  }

  addCallerText(text: string, after?: string | null): string {
    if (!this.#live) return '';
    this.#call.onSign();
    return this.#transcript.written(text, after);
  }

  addAgentText(text: string, after?: string | null): string {
    return this.#transcript.given(text, after);
  }

  forget(key: string): boolean {
    return this.#transcript.forget(key);
  }

  answerTool(callId: string, content: string): boolean {
    return this.#live && this.#tools.answer(callId, content);
  }

  respond(options: { textOnly?: boolean } = {}): boolean {
    const answer = this.#phase.on('response_wanted');
    if (answer === 'refuse' || this.#speech.current) return false;
    // Another agent takes the call over, and says something by itself.
    if (answer === 'answer' && !this.#turns.respondThen(options)) this.#call.respond(options);
    return true;
  }

  interrupt(): boolean {
    return this.#speech.current?.interrupt() ?? false;
  }

  truncate(replyId: number, heardMs: number): string | undefined {
    return this.#speech.truncate(replyId, heardMs);
  }

  commitCallerAudio(): boolean {
    return this.#live && this.#turns.commit();
  }

  clearCallerAudio(): void {
    if (this.#live) this.#turns.clear();
  }

  setTextOnly(only: boolean): void {
    this.#speech.setTextOnly(only);
  }

  setVoice(voice: string): void {
    const makers = this.#live ? this.#providers.withVoice?.(voice) : undefined;
    if (makers) this.#voices.use(makers);
  }

  setTurnDetection(detection: TurnDetection): void {
    this.#turns.setDetection(detection);
  }

  get #live(): boolean {
    return this.#phase.on('client_input') === 'take';
  }
}
