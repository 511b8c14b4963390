import type { CallEndReason } from '@parley/shared/contracts/session-values';
import { ProviderError } from '@parley/shared/errors/provider-error';
import type { Logger } from '@parley/shared/logging/logger';
import type { Emit } from '../reporting/call-reporter.ts';
import { builtInSentences, type BuiltInSentences } from '../speech/built-in-sentences.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { AgentSpeech, SpeechFailure } from '../speech/agent-speech.ts';
import type { PhaseOfCall } from './call-phase.ts';
import type { Goodbye } from './goodbye.ts';

const STALLED: CallEndReason = { ended_by: 'system', failure_reason: 'internal' };

/** What a call does about a failing provider: it warns, apologises, or ends. */
export class Failures {
  readonly #phase: PhaseOfCall;
  readonly #speech: AgentSpeech;
  readonly #goodbye: Goodbye;
  readonly #sentences: () => BuiltInSentences;
  readonly #voices: Pick<CallVoices, 'useLast'>;
  readonly #emit: Emit;
  readonly #logger: Logger;
  readonly #end: (reason: CallEndReason) => void;

  constructor(deps: {
    phase: PhaseOfCall;
    speech: AgentSpeech;
    goodbye: Goodbye;
    /** In the language of the agent. */
    sentences: () => BuiltInSentences;
    voices: Pick<CallVoices, 'useLast'>;
    emit: Emit;
    logger: Logger;
    end: (reason: CallEndReason) => void;
  }) {
    this.#phase = deps.phase;
    this.#speech = deps.speech;
    this.#goodbye = deps.goodbye;
    this.#sentences = deps.sentences;
    this.#voices = deps.voices;
    this.#emit = deps.emit;
    this.#logger = deps.logger;
    this.#end = deps.end;
  }

  /** What the caller is told of something that does not work; the call goes on. */
  get apology(): string {
    return this.#sentences().apology;
  }

  /** Reports a provider that failed and is tried again or replaced. */
  trouble(code: string, error: unknown): void {
    const about = error instanceof ProviderError ? { provider: error.provider, fault: error.fault } : {};
    this.#emit('warning', { code, ...about });
    this.#logger.warn({ code, err: error }, 'a provider failed');
  }

  /** Reports a reply that breaks off. */
  replyBreaksOff({ reason, error }: SpeechFailure): void {
    this.#emit('error', {
      code: reason,
      ...(error instanceof ProviderError ? { fault: error.fault } : {}),
    });
    if (!(error instanceof ProviderError)) this.#logger.error({ err: error }, "the agent's reply failed");
  }

  /** Apologises for a reply that broke off, or ends the call. @param repeated the reply before broke off too */
  replyFailed({ reason, error }: SpeechFailure, repeated: boolean): void {
    const answer = this.#phase.on('reply_failed');
    if (answer === 'ignore') return;
    const ending: CallEndReason = { ended_by: 'system', failure_reason: reason };
    if (reason === 'tts_error' && answer === 'recover' && this.#voices.useLast()) this.#sayLastWords(ending);
    else if (reason !== 'llm_error') this.#end(ending);
    else if (answer === 'give_up') this.#goodbye.finish();
    else if (repeated || (error instanceof ProviderError && error.fault === 'auth'))
      this.#goodbye.say(ending, this.#sentences().givingUp);
    else this.#speech.say(this.apology, 'apology', { interruptible: true });
  }

  /** Says in the local voice, which knows English alone, that the call ends: the agent has no voice left. */
  #sayLastWords(ending: CallEndReason): void {
    this.#emit('warning', { code: 'local_voice' });
    this.#goodbye.say(ending, builtInSentences('en').givingUp);
  }

  /** The call does not get on, whatever is tried: the caller is told, and it ends. */
  giveUp(): void {
    this.#goodbye.sayAtOnce(STALLED, this.#sentences().givingUp);
  }

  /** The flow of the agent does not get on: the caller is told, and the call ends. */
  flowFailed(code: 'flow_loop' | 'flow_stuck'): void {
    this.#emit('error', { code });
    const failure_reason = code === 'flow_loop' ? code : 'internal';
    this.#goodbye.sayAtOnce({ ended_by: 'system', failure_reason }, this.#sentences().givingUp);
  }

  /** Ends a call that does not even come to its end. */
  end(): void {
    this.#goodbye.finish();
    this.#end(STALLED);
  }

  /** Reports that no STT is left; called again as long as that is so. */
  recognitionLost(): void {
    if (this.#phase.on('recognition_lost') !== 'say_goodbye') return;
    this.#speech.interrupt();
    this.#goodbye.say({ ended_by: 'system', failure_reason: 'stt_error' }, this.#sentences().givingUp);
  }
}
