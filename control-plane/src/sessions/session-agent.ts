import {
  defaultAgentConfig,
  type AgentConfig,
  type TransferDestination,
} from '@parley/shared/contracts/agent-config';
import { destinationsIn, flowDefinitionSchema } from '@parley/shared/contracts/flow-definition';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import { readOverrides, withOverrides } from './session-overrides.ts';

/** One version of an agent, as a session runs it. */
export interface SessionAgent {
  agent_id: string;
  version: number;
  org_id: string;
  project_id: string;
  name: string;
  system_prompt: string;
  greeting: string;
  llm_id: string;
  stt_id: string;
  tts_id: string;
  tts_voice_id: string | null;
  /** Filled with defaults. */
  config: AgentConfig;
  flow_definition: Record<string, unknown> | null;
  /** Knowledge bases that are attached and enabled. */
  knowledge_base_ids: string[];
  archived: boolean;
}

/** The versions by which an agent answers at present. */
export interface AgentChoice {
  /** At least one. */
  versions: readonly SessionAgent[];
  /** The one that has the conversations of this caller. */
  of(caller: string): SessionAgent;
}

/** What sessions ask of agents. */
export interface SessionAgents {
  /**
   * The version a new session is to use, by the agent's traffic rule; null when there is no such agent.
   * @param caller number or user identifier, which keeps its version; null: somebody unknown
   */
  forNewSession(agentId: string, caller: string | null): Promise<SessionAgent | null>;
  /** The same for many callers; null when there is no such agent. */
  choice(agentId: string): Promise<AgentChoice | null>;
  /** That version, whatever became of the agent since; null when it was purged. */
  version(agentId: string, version: number): Promise<SessionAgent | null>;
}

/** The agent version a session runs, with the session's overrides; null for a session without an agent. */
export async function agentOf(
  agents: Pick<SessionAgents, 'version'>,
  session: { agent_id: string | null; agent_version: number | null; overrides?: string | null },
): Promise<SessionAgent | null> {
  if (session.agent_id === null || session.agent_version === null) return null;
  const agent = await agents.version(session.agent_id, session.agent_version);
  return agent && withOverrides(agent, readOverrides(session.overrides));
}

/** The agent that speaks at present: the one that the call was handed over to last, or else the session's own. */
export function speakingAgentOf(
  agents: Pick<SessionAgents, 'version'>,
  session: {
    agent_id: string | null;
    agent_version: number | null;
    hand_overs?: readonly { agent_id: string; version: number }[] | undefined;
  },
): Promise<SessionAgent | null> {
  const last = session.hand_overs?.at(-1);
  return last ? agents.version(last.agent_id, last.version) : agentOf(agents, session);
}

/** All that a caller may be brought to: the agent's destinations, and those of its flow's nodes. */
export function destinationsOf({
  config,
  flow_definition: flow,
}: Pick<SessionAgent, 'config' | 'flow_definition'>): TransferDestination[] {
  return [
    ...config.transfer.destinations,
    ...(flow === null ? [] : destinationsIn(flowDefinitionSchema.parse(flow))),
  ];
}

/** Tools of an agent version, secrets in the clear: only ever for a plan. */
export interface SessionTools {
  forPlan(agent: SessionAgent): Promise<SessionPlanWire['tools']>;
}

/** What a session without an agent runs: every default, no prompt, no tools. */
export const NO_AGENT = {
  agent_id: null,
  version: null,
  name: '',
  system_prompt: '',
  greeting: '',
  config: defaultAgentConfig(),
} as const;
