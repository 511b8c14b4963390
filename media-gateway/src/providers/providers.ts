import type { ProviderName } from '@parley/shared/contracts/session-values';
import { openAiCompatible } from './llm/openai-compatible-llm.ts';
import type { LlmDescriptor, SttDescriptor, TtsDescriptor } from './provider-factory.ts';
import { deepgram } from './stt/deepgram-stt.ts';
import { elevenLabs } from './tts/elevenlabs-tts.ts';
import { flite } from './tts/local-tts.ts';

/** The adapters behind the names of a plan: the only place that names vendors. */
export const providers: {
  stt: Partial<Record<ProviderName, SttDescriptor>>;
  llm: Partial<Record<ProviderName, LlmDescriptor>>;
  tts: Partial<Record<ProviderName, TtsDescriptor>>;
} = {
  stt: { deepgram },
  llm: { openai_compatible: openAiCompatible },
  tts: { elevenlabs: elevenLabs, flite },
};
