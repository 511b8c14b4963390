import type { AgentTools } from './agent-tools.ts';
import { isDeepStrictEqual } from 'node:util';
import type { AgentConfig } from '@parley/shared/contracts/agent-config';
import {
  OVERRIDDEN_SECTIONS,
  type FlowNode,
  type NodeOverrides,
} from '@parley/shared/contracts/flow-definition';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { LlmProvider } from '../providers/llm/llm-provider.ts';
import type { CallProviders } from '../providers/provider-registry.ts';
import type { CallVoices } from '../speech/speaker.ts';
import type { CallerTurns } from '../turns/caller-turns.ts';
import type { PromptTexts } from './prompt.ts';

/** Has the settings of a node hold in the call, and those of the agent again afterwards. */
export class NodeSettings {
  readonly #plan: SessionPlan;
  readonly #providers: CallProviders;
  readonly #llms: LlmProvider[];
  readonly #voices: CallVoices;
  readonly #tools: AgentTools;
  readonly #prompt: PromptTexts;
  readonly #turns: CallerTurns;
  readonly #changed: () => void;
  /** What the agent has where a node says nothing. */
  #own: Pick<SessionPlan, 'agent' | 'knowledge'> & { llms: readonly LlmProvider[] };
  /** Of the nodes' models, those that were used. */
  readonly #made = new Map<string, LlmProvider>();
  #voice: string | undefined;
  #node: FlowNode | undefined;

  constructor(deps: {
    /** The call's own: the settings of the node are written into it. */
    plan: SessionPlan;
    providers: CallProviders;
    /** The models of the next reply. */
    llms: LlmProvider[];
    voices: CallVoices;
    agentTools: AgentTools;
    prompt: PromptTexts;
    turns: CallerTurns;
    /** Other settings hold from now on, those of turn-taking apart. */
    changed: () => void;
  }) {
    this.#plan = deps.plan;
    this.#providers = deps.providers;
    this.#llms = deps.llms;
    this.#voices = deps.voices;
    this.#tools = deps.agentTools;
    this.#prompt = deps.prompt;
    this.#turns = deps.turns;
    this.#changed = deps.changed;
    this.#own = ownOf(deps.plan, deps.llms);
  }

  /** Another agent is in the plan. */
  agentChanged(): void {
    this.#own = ownOf(this.#plan, this.#llms);
    this.#made.clear();
    this.#voice = undefined;
    this.#node = undefined;
    this.#prompt.setNode('');
    this.#tools.setNode([]);
  }

  /** The agent in the plan speaks another language: what the node has otherwise holds on top of it, its voice apart. */
  languageChanged(): void {
    const { agent } = this.#plan;
    this.#own = { ...this.#own, agent };
    this.#voice = undefined;
    if (this.#node)
      this.#plan.agent = { ...agent, config: overriddenConfig(agent.config, this.#node.overrides) };
  }

  /** The model with an id that the flow names; null, or one that cannot be used: the agent's own. */
  llm(id: string | null): LlmProvider {
    const own = this.#own.llms[0]!;
    if (id === null) return own;
    const known = this.#made.get(id);
    if (known) return known;
    const made = this.#providers.nodes?.llms.get(id)?.() ?? own;
    this.#made.set(id, made);
    return made;
  }

  enter(node: FlowNode): void {
    const { agent, knowledge } = this.#own;
    const { overrides } = node;
    this.#node = node;
    const config = overriddenConfig(agent.config, overrides);
    const before = this.#plan.agent.config;
    this.#plan.agent = { ...agent, config };
    const bases = node.type === 'conversation' ? node.knowledge_base_ids : [];
    this.#plan.knowledge = { base_ids: [...new Set([...knowledge.base_ids, ...bases])] };
    this.#tools.setNode(node.type === 'conversation' ? node.tool_ids : []);
    this.#prompt.setNode(promptOf(node, this.#plan));
    this.#useModels(overrides);
    this.#useVoice(overrides.tts_voice_id);
    const listens = ({ turn_taking, interruption }: AgentConfig) => ({ turn_taking, interruption });
    if (!isDeepStrictEqual(listens(before), listens(config))) this.#turns.agentChanged(undefined);
    this.#changed();
  }

  /** What the model is to do in the node now. */
  setTask(text: string): void {
    const said = this.#node ? promptOf(this.#node, this.#plan) : '';
    this.#prompt.setNode([...(said === '' ? [] : [said]), text].join('\n\n'));
  }

  #useModels({ llm_id: id, llm }: NodeOverrides): void {
    const [first, ...fallbacks] = this.#own.llms;
    const named = llm?.fallback_llm_ids?.map((one) => this.llm(one));
    const wanted = [...new Set([id === undefined ? first! : this.llm(id), ...(named ?? fallbacks)])];
    this.#llms.splice(0, this.#llms.length, ...wanted);
  }

  #useVoice(voice: string | undefined): void {
    if (voice === this.#voice) return;
    this.#voice = voice;
    const [first, ...rest] = this.#providers.tts;
    const make = voice === undefined ? first : (this.#providers.nodes?.voices.get(voice) ?? first);
    this.#voices.use([make!, ...rest]);
  }
}

/** A config with what a node has otherwise. */
export function overriddenConfig(config: AgentConfig, overrides: NodeOverrides): AgentConfig {
  const changed = OVERRIDDEN_SECTIONS.map((section) => [
    section,
    { ...config[section], ...overrides[section] },
  ]);
  return { ...config, ...(Object.fromEntries(changed) as Partial<AgentConfig>) };
}

function ownOf({ agent, knowledge }: SessionPlan, llms: readonly LlmProvider[]) {
  return { agent, knowledge, llms: [...llms] };
}

/** What a node adds to the prompt of the agent, with placeholders. */
function promptOf(node: FlowNode, { flow }: SessionPlan): string {
  const global = flow?.definition.global_prompt ?? '';
  if (node.type !== 'conversation' && node.type !== 'collect') return global;
  const task = `Your task at this point of the call:\n${node.prompt}`;
  const usesGlobal = node.type === 'collect' || node.use_global_prompt;
  return [...(usesGlobal && global !== '' ? [global] : []), ...(node.prompt === '' ? [] : [task])].join(
    '\n\n',
  );
}
