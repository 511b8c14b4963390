import type { Agent } from 'undici';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { PlanProvider } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from './llm/llm-provider.ts';
import type { SocketAgents } from './provider-socket.ts';
import type { SttProvider } from './stt/stt-provider.ts';
import type { TtsProvider } from './tts/tts-provider.ts';

/** What the providers of all calls share. Lent: the registry closes it. */
export interface SharedConnections {
  /** For WebSockets. */
  agents: SocketAgents;
  /** For HTTP. */
  agent: Agent;
  openSpeech: () => Promise<LocalSpeech>;
  clock: Clock;
  logger: Logger;
}

/** Makes the providers of calls over what it shares between them, and closes that. */
export interface ProviderFactory<T> {
  make: T;
  dispose?: () => Promise<void>;
}

/** How the agent of a call is to sound. */
export interface VoiceOptions {
  /** What the far end plays: a provider comes as near as it can. */
  output: AudioFormat;
  speed: number;
  stability: number | null;
}

export type SttDescriptor = (
  shared: SharedConnections,
) => ProviderFactory<(plan: PlanProvider) => SttProvider>;
export type LlmDescriptor = (
  shared: SharedConnections,
) => ProviderFactory<(plan: PlanProvider) => LlmProvider>;
export type TtsDescriptor = (
  shared: SharedConnections,
) => ProviderFactory<(plan: PlanProvider, voice: VoiceOptions) => TtsProvider>;
