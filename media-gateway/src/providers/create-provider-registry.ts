import type { LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import type { PlanProvider, SessionPlan } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { HTTP1_ONLY } from '@parley/shared/http/http1';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import { openFlite } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import { OpenAiCompatibleLlm } from './llm/openai-compatible-llm.ts';
import type { LlmProvider } from './llm/llm-provider.ts';
import type { CallProviders, ProviderRegistry } from './provider-registry.ts';
import { SocketAgents } from './provider-socket.ts';
import { DeepgramStt } from './stt/deepgram-stt.ts';
import type { SttProvider } from './stt/stt-provider.ts';
import { ElevenLabsPools } from './tts/elevenlabs-pool.ts';
import { ElevenLabsTts } from './tts/elevenlabs-tts.ts';
import { LocalTts } from './tts/local-tts.ts';
import type { TtsProvider } from './tts/tts-provider.ts';

/** Rules that hold for every public address. */
const ANY_PUBLIC_URL = 'https://provider.invalid';
const GUARDED = { purpose: 'provider', orgId: '', allow: [] } as const;

/**
 * The one place that knows which adapter a provider's name stands for, and the owner of what calls share: TLS
 * contexts, HTTP pools, ElevenLabs' sockets and the local voice.
 *
 * Making a provider whose name fits no adapter of its kind throws a `ProviderError` (`protocol`).
 */
export function createProviderRegistry(options: {
  logger: Logger;
  clock?: Clock;
  /** Opens the local voice; tests bring their own. */
  openSpeech?: () => Promise<LocalSpeech>;
}): ProviderRegistry {
  const { logger, clock = systemClock } = options;
  const owned = new DisposableList();
  // Connections outlive the pauses of a conversation.
  const agent = new Agent({ ...HTTP1_ONLY, keepAliveTimeout: 60_000, keepAliveMaxTimeout: 300_000 });
  owned.defer(() => agent.destroy());
  const ours = openSockets(agent);
  // What a tenant's own address may reach: public ones, whatever its name resolves to in the end.
  const guard = owned.add(createSafeFetch({ allow: [] }));
  const theirs = openSockets(
    guard.dispatcherFor(ANY_PUBLIC_URL, GUARDED),
    guard.lookupFor(ANY_PUBLIC_URL, GUARDED),
  );

  function openSockets(agent: Agent, lookup?: LookupFunction) {
    const agents = new SocketAgents(lookup);
    owned.defer(() => agents.dispose());
    return { agents, agent, pools: owned.add(new ElevenLabsPools({ agents, clock, logger })) };
  }

  /** @throws ProviderError for a tenant's address that may not be reached */
  function connections(one: PlanProvider, plan: SessionPlan) {
    if (!one.tenant_address) return ours;
    const target = { purpose: 'provider', orgId: plan.org_id, allow: plan.outbound_allow } as const;
    try {
      guard.checkUrl(one.base_url, target);
    } catch (error) {
      throw new ProviderError(one.provider, 'auth', 'its base URL is not allowed', { cause: error });
    }
    return plan.outbound_allow.includes(new URL(one.base_url).origin) ? ours : theirs;
  }

  const voice = owned.add(new SharedSpeech(options.openSpeech ?? openFlite));

  function toStt(one: PlanProvider, plan: SessionPlan): SttProvider {
    if (one.provider === 'deepgram') {
      return new DeepgramStt(one, { agents: connections(one, plan).agents, clock, logger });
    }
    throw unknown(one, 'speech to text');
  }

  function toLlm(one: PlanProvider, plan: SessionPlan): LlmProvider {
    if (one.provider === 'openai_compatible') {
      return new OpenAiCompatibleLlm(one, { agent: connections(one, plan).agent, clock });
    }
    throw unknown(one, 'language model');
  }

  function toTts(one: PlanProvider, plan: SessionPlan, output: AudioFormat): TtsProvider {
    const { speed, stability } = plan.agent.config.tts;
    if (one.provider === 'elevenlabs') {
      return new ElevenLabsTts(
        one,
        { output, speed, stability },
        {
          pools: connections(one, plan).pools,
          clock,
        },
      );
    }
    if (one.provider === 'flite') return new LocalTts(output, { speech: () => voice.get(), clock });
    throw unknown(one, 'text to speech');
  }

  return {
    forCall(plan: SessionPlan, output: AudioFormat): CallProviders {
      return {
        stt: plan.stt.map((one) => () => toStt(one, plan)),
        llm: plan.llm.map((one) => () => toLlm(one, plan)),
        tts: plan.tts.map((one) => () => toTts(one, plan, output)),
      };
    },
    [Symbol.asyncDispose]: () => owned.dispose(),
  };
}

function unknown({ provider }: PlanProvider, kind: string): ProviderError {
  return new ProviderError(provider, 'protocol', `unknown ${kind} provider`);
}

/** The local voice, opened when it is first needed. One that did not start is tried again the next time. */
class SharedSpeech {
  readonly #open: () => Promise<LocalSpeech>;
  #speech: Promise<LocalSpeech> | undefined;
  #disposed = false;

  constructor(open: () => Promise<LocalSpeech>) {
    this.#open = open;
  }

  get(): Promise<LocalSpeech> {
    if (this.#disposed)
      return Promise.reject(new ProviderError('flite', 'unavailable', 'the voice is closed'));
    this.#speech ??= this.#open().catch((error: unknown) => {
      this.#speech = undefined;
      throw error;
    });
    return this.#speech;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const speech = await this.#speech?.catch(() => undefined);
    await speech?.[Symbol.asyncDispose]();
  }
}
