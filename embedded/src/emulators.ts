import { DisposableList } from '@parley/shared/async/disposable-list';
import type { Logger } from '@parley/shared/logging/logger';
import { openFlite, type LocalSpeech } from '@parley/shared/speech/flite';
import { openDeepgramEmulator, type DeepgramEmulator } from '@parley/emulators/providers/deepgram-emulator';
import {
  openElevenLabsEmulator,
  type ElevenLabsEmulator,
} from '@parley/emulators/providers/elevenlabs-emulator';
import { openOpenAiEmulator, type OpenAiEmulator } from '@parley/emulators/providers/openai-emulator';
import { parseScript } from '@parley/emulators/providers/openai/script';
import { CALLER_LINES, DEMONSTRATION_LLM_SCRIPT } from './demonstration/script.ts';
import type { PlatformPart } from './platform.ts';

/** Stand-ins for the providers that have no key here, and the configuration that points the control plane at them. */
export interface Emulators {
  /** Variables for the control plane. */
  readonly env: Record<string, string>;
  readonly providers: readonly PlatformPart[];
  /** Those that are emulators. */
  readonly parts: readonly PlatformPart[];
  readonly deepgram: DeepgramEmulator | undefined;
  readonly openai: OpenAiEmulator | undefined;
  readonly elevenlabs: ElevenLabsEmulator | undefined;
  /** A voice for the emulated caller (and the emulated TTS). */
  readonly speech: LocalSpeech;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Any key will do: emulators check the form, not the account. */
const EMULATOR_KEY = 'emulated-no-account-needed';

export async function openEmulators(
  env: NodeJS.ProcessEnv,
  options: { logger: Logger; fast: boolean },
): Promise<Emulators> {
  const owned = new DisposableList();
  try {
    const speech = owned.add(await openFlite());
    const variables: Record<string, string> = {};
    const providers: PlatformPart[] = [];
    const emulated: string[] = [];
    /** A key, or an address of the operator's own, means the real thing. */
    const isReal = (name: string) => Boolean(env[`${name}_API_KEY`]) || Boolean(env[`${name}_BASE_URL`]);
    const note = (name: string, label: string, url: string | undefined) => {
      const real = url === undefined;
      providers.push({
        name: label,
        what: real
          ? (env[`${name}_BASE_URL`] ?? 'the real one, with your key')
          : `emulator at ${url}, set ${name}_API_KEY for the real one`,
        emulated: !real,
      });
      if (real) return;
      variables[`${name}_API_KEY`] = EMULATOR_KEY;
      variables[`${name}_BASE_URL`] = name === 'OPENAI' ? `${url}/v1` : url;
      emulated.push(name.toLowerCase());
    };

    const deepgram = isReal('DEEPGRAM')
      ? undefined
      : owned.add(
          await openDeepgramEmulator({
            mode: 'recognise',
            sentences: Object.values(CALLER_LINES),
            ...(options.fast ? FAST_STT : {}),
          }),
        );
    note('DEEPGRAM', 'Speech to text (Deepgram)', deepgram?.url);
    const openai = isReal('OPENAI')
      ? undefined
      : owned.add(
          await openOpenAiEmulator({
            script: parseScript(DEMONSTRATION_LLM_SCRIPT),
            ...(options.fast ? FAST_LLM : {}),
          }),
        );
    note('OPENAI', 'Language model (OpenAI)', openai?.url);
    const elevenlabs = isReal('ELEVENLABS')
      ? undefined
      : owned.add(await openElevenLabsEmulator({ speech, voices: 'any', ...(options.fast ? FAST_TTS : {}) }));
    note('ELEVENLABS', 'Text to speech (ElevenLabs)', elevenlabs?.url);
    variables['EMULATED_PROVIDERS'] = emulated.join(',');

    return {
      env: variables,
      providers,
      parts: providers.filter((part) => part.emulated),
      deepgram,
      openai,
      elevenlabs,
      speech,
      [Symbol.asyncDispose]: () => owned.dispose(),
    };
  } catch (error) {
    await owned.dispose();
    throw error;
  }
}

const FAST_STT = {
  delays: { interimEveryMs: 200, interim: 20, speechStarted: 10, speechFinal: 10, finalize: 10 },
};
const FAST_LLM = { delays: { firstToken: 10, tokensPerSecond: 2000 } };
const FAST_TTS = { delays: { firstAudio: 20, realTimeFactor: 20 } };
