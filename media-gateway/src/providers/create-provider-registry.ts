import { Agent } from 'undici';
import { DisposableList } from '@parley/shared/async/disposable-list';
import type { AudioFormat } from '@parley/shared/audio/audio-frame';
import { LOCAL_VOICE_ID } from '@parley/shared/contracts/call-prices';
import type { UsedModel } from '@parley/shared/contracts/call-prices';
import type { PlanProvider, SessionPlan } from '@parley/shared/contracts/session-plan';
import { ProviderError } from '@parley/shared/errors/provider-error';
import { HTTP1_ONLY } from '@parley/shared/http/http1';
import { createSafeFetch } from '@parley/shared/http/safe-fetch';
import type { Logger } from '@parley/shared/logging/logger';
import { openFlite } from '@parley/shared/speech/flite';
import type { LocalSpeech } from '@parley/shared/speech/flite';
import { systemClock } from '@parley/shared/time/clock';
import type { Clock } from '@parley/shared/time/clock';
import type { LlmProvider } from './llm/llm-provider.ts';
import type { ProviderFactory, SharedConnections } from './provider-factory.ts';
import type { CallProviders, ProviderRegistry } from './provider-registry.ts';
import { SocketAgents } from './provider-socket.ts';
import { providers } from './providers.ts';
import type { SttProvider } from './stt/stt-provider.ts';
import { KeptSpeech, keepingTts, voiceKey } from './tts/kept-speech.ts';

/** Rules that hold for every public address. */
const ANY_PUBLIC_URL = 'https://provider.invalid';
const GUARDED = { purpose: 'provider', orgId: '', allow: [] } as const;

/** The voice of the process itself. */
const LOCAL_VOICE: PlanProvider = {
  id: LOCAL_VOICE_ID,
  provider: 'flite',
  emulated: false,
  base_url: '',
  tenant_address: false,
  credential: null,
  model: 'flite',
  language: 'en-US',
  options: {},
};

/**
 * Turns the names of a plan into providers, and owns what calls share: TLS contexts, HTTP pools, and what a provider
 * keeps open between calls.
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
  const kept = new KeptSpeech({ clock });
  owned.defer(() => kept[Symbol.dispose]());
  // Connections outlive the pauses of a conversation.
  const agent = new Agent({ ...HTTP1_ONLY, keepAliveTimeout: 60_000, keepAliveMaxTimeout: 300_000 });
  owned.defer(() => agent.destroy());
  const ours = openAll({ agents: new SocketAgents(), agent });
  // What a tenant's own address may reach: public ones, whatever its name resolves to in the end.
  const guard = owned.add(createSafeFetch({ allow: [] }));
  const theirs = openAll({
    agents: new SocketAgents(guard.lookupFor(ANY_PUBLIC_URL, GUARDED)),
    agent: guard.dispatcherFor(ANY_PUBLIC_URL, GUARDED),
  });

  function openAll(connections: Pick<SharedConnections, 'agents' | 'agent'>) {
    owned.defer(() => connections.agents.dispose());
    const shared = { ...connections, openSpeech: options.openSpeech ?? openFlite, clock, logger };
    const open = <T>(descriptors: Descriptors<T>) => {
      const factories = new Map<string, T>();
      for (const [name, descriptor] of Object.entries(descriptors)) {
        if (!descriptor) continue;
        const { make, dispose } = descriptor(shared);
        factories.set(name, make);
        if (dispose) owned.defer(dispose);
      }
      return factories;
    };
    return { stt: open(providers.stt), llm: open(providers.llm), tts: open(providers.tts) };
  }

  /** @throws ProviderError for a tenant's address that may not be reached */
  function factories(one: PlanProvider, plan: SessionPlan) {
    if (!one.tenant_address) return ours;
    const target = { purpose: 'provider', orgId: plan.org_id, allow: plan.outbound_allow } as const;
    try {
      guard.checkUrl(one.base_url, target);
    } catch (error) {
      throw new ProviderError(one.provider, 'auth', 'the base URL is not allowed', { cause: error });
    }
    return plan.outbound_allow.includes(new URL(one.base_url).origin) ? ours : theirs;
  }

  return {
    forCall(plan: SessionPlan, output: AudioFormat): CallProviders {
      const { speed, stability } = plan.agent.config.tts;
      const voice = { output, speed, stability };
      const llm = (one: PlanProvider) => () =>
        namedLlm(named(factories(one, plan).llm, one, 'language model')(one), one);
      const tts = (one: PlanProvider) => () => {
        const made = named(factories(one, plan).tts, one, 'text to speech')(one, voice);
        return keepingTts(made, { kept, key: voiceKey(plan.org_id, one, voice), model: modelOf(one) });
      };
      const stt = (one: PlanProvider) => () =>
        namedStt(named(factories(one, plan).stt, one, 'speech to text')(one), one);
      const { llms = {}, voices = {} } = plan.flow ?? {};
      return {
        stt: plan.stt.map(stt),
        llm: plan.llm.map(llm),
        tts: plan.tts.map(tts),
        nodes: {
          llms: new Map(Object.entries(llms).map(([id, one]) => [id, llm(one)])),
          voices: new Map(Object.entries(voices).map(([id, one]) => [id, tts(one)])),
        },
        // A plan that has the local voice has tried it.
        ...(plan.tts.some(({ provider }) => provider === LOCAL_VOICE.provider)
          ? {}
          : { lastVoice: tts(LOCAL_VOICE) }),
      };
    },
    [Symbol.asyncDispose]: () => owned.dispose(),
  };
}

/** How the plan of a call names a provider: one of another name may share it. */
function modelOf({ id, voice }: PlanProvider): UsedModel {
  return { model_id: id, ...(voice !== undefined && { voice }) };
}

function namedLlm(llm: LlmProvider, one: PlanProvider): LlmProvider {
  return {
    ...{ name: llm.name, model: modelOf(one) },
    stream: (request, signal) => llm.stream(request, signal),
    warm: () => llm.warm(),
  };
}

function namedStt(stt: SttProvider, one: PlanProvider): SttProvider {
  const open: SttProvider['open'] = (options, listener) => stt.open(options, listener);
  return { name: stt.name, model: modelOf(one), open };
}

type Descriptors<T> = Partial<Record<string, (shared: SharedConnections) => ProviderFactory<T>>>;

function named<T>(factories: ReadonlyMap<string, T>, { provider }: PlanProvider, kind: string): T {
  const make = factories.get(provider);
  if (!make) throw new ProviderError(provider, 'protocol', `unknown ${kind} provider`);
  return make;
}
