import { flowDefinitionSchema, type FlowDefinition } from '@parley/shared/contracts/flow-definition';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { ModelCatalog, PlanProviderWire } from '../providers/model-catalog.ts';
import type { SessionAgent } from './session-agent.ts';
import { llmUse, ttsUse } from './session-plan.ts';
import type { SessionRecord } from './session-record.ts';

type WireFlow = NonNullable<SessionPlanWire['flow']>;

/** The flow of an agent for a plan, with the models and voices that it names; null: it has none. */
export async function flowOf(
  catalog: Pick<ModelCatalog, 'resolve'>,
  session: SessionRecord,
  agent: SessionAgent | null,
): Promise<WireFlow | null> {
  if (!agent || agent.flow_definition === null) return null;
  const definition = flowDefinitionSchema.parse(agent.flow_definition);
  const resolve = (id: string, use: Parameters<ModelCatalog['resolve']>[2]) =>
    catalog.resolve(session.org_id, id, { ...use, projectId: session.project_id });
  const kept = session.flow_state ?? null;
  const state = kept?.agent_id === agent.agent_id ? kept : null;
  const [llms, voices] = await Promise.all([
    resolveAll(llmsOf(definition), (id) => resolve(id, llmUse(agent.config))),
    resolveAll(voicesOf(definition), (voice) => resolve(session.tts_id, ttsUse(agent.config, voice))),
  ]);
  return { definition: agent.flow_definition as WireFlow['definition'], llms, voices, state };
}

/** The same flow for an org that has no knowledge bases. */
export function withoutKnowledge(flow: WireFlow): WireFlow {
  const nodes = flow.definition.nodes.map((node) =>
    node.type === 'conversation' ? { ...node, knowledge_base_ids: [] } : node,
  );
  return { ...flow, definition: { ...flow.definition, nodes } };
}

/** Those that can be used now, by id. */
async function resolveAll(
  ids: readonly string[],
  resolve: (id: string) => Promise<PlanProviderWire | undefined>,
): Promise<Record<string, PlanProviderWire>> {
  const found = await Promise.all([...new Set(ids)].map(async (id) => [id, await resolve(id)] as const));
  return Object.fromEntries(found.flatMap(([id, provider]) => (provider ? [[id, provider]] : [])));
}

function llmsOf({ routing_llm_id: routing, nodes }: FlowDefinition): string[] {
  const named = nodes.flatMap(({ overrides }) => [
    ...(overrides.llm_id === undefined ? [] : [overrides.llm_id]),
    ...(overrides.llm?.fallback_llm_ids ?? []),
  ]);
  return routing === null ? named : [routing, ...named];
}

function voicesOf({ nodes }: FlowDefinition): string[] {
  return nodes.flatMap(({ overrides: { tts_voice_id: voice } }) => (voice === undefined ? [] : [voice]));
}
