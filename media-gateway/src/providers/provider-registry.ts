import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmProvider } from './llm/llm-provider.ts';
import type { SttProvider } from './stt/stt-provider.ts';
import type { TtsProvider } from './tts/tts-provider.ts';

/** The providers of one call: the first in use, the rest fallbacks, made when they are needed. */
export interface CallProviders {
  stt: readonly (() => SttProvider)[];
  llm: readonly (() => LlmProvider)[];
  tts: readonly (() => TtsProvider)[];
  /** A voice that needs no connection, for last words when all voices of the plan fail. English only. */
  lastVoice?: () => TtsProvider;
  /** What the nodes of the plan's flow name, by id. */
  nodes?: {
    llms: ReadonlyMap<string, () => LlmProvider>;
    voices: ReadonlyMap<string, () => TtsProvider>;
  };
  /** The providers of another language of the plan: its STT and its voices. */
  inLanguage?: ((part: Pick<SessionPlan, 'stt' | 'tts'>) => LanguageProviders) | undefined;
  /** The same voices with another first one. @param voice the provider's own id */
  withVoice?: ((voice: string) => CallProviders['tts']) | undefined;
}

/** What of the providers a language changes. */
export type LanguageProviders = Pick<CallProviders, 'stt' | 'tts' | 'withVoice'>;

/** Turns names in a plan into providers. Shares what calls can share: HTTP pools, TLS contexts, the local voice. */
export interface ProviderRegistry {
  /** @param output what the far end plays: TTS providers come as near as they can */
  forCall(plan: SessionPlan, output: AudioFormat): CallProviders;
  [Symbol.asyncDispose](): Promise<void>;
}
