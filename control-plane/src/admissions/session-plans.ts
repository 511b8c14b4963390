import type { PlanAsset } from '@parley/shared/contracts/audio-assets';
import type { CallPrices } from '@parley/shared/contracts/call-prices';
import { assetsIn, flowDefinitionSchema } from '@parley/shared/contracts/flow-definition';
import type { SessionPlanWire } from '@parley/shared/contracts/session-plan';
import type { Turn } from '@parley/shared/contracts/turn';
import { toConsultPlan } from '../consults/consult-plan.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { SessionAgent, SessionTools } from '../sessions/session-agent.ts';
import { flowOf, withoutKnowledge } from '../sessions/session-flow.ts';
import { modelsOf, resolveProviders, toSessionPlan, withModelsOf } from '../sessions/session-plan.ts';
import type { PlanFacts, PlannedModel } from '../sessions/session-plan.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Directory } from '../tenancy/directory.ts';

/** Something an agent remembers of a person. */
interface PlanMemory {
  kind: string;
  content: string;
  created_at: Date;
}

/** The stored parts of a session that a plan needs. */
export interface PlanSources {
  /** The recording of one leg; the same one when asked again. @param format of one that is new */
  recording(
    session: SessionRecord,
    leg: number,
    format: PlanFacts['recording']['format'],
  ): Promise<PlanFacts['recording']>;
  /** The turns so far, in order. */
  history(sessionId: string): Promise<Turn[]>;
  /** What the agent remembers of the person. */
  memories(session: SessionRecord, agent: SessionAgent | null): Promise<readonly PlanMemory[]>;
  /** Whether what the agent notes of the person would be kept. */
  mayNote(session: SessionRecord, agent: SessionAgent | null): Promise<boolean>;
  /** How often the org lets tools run. */
  toolCallLimits(session: SessionRecord): Promise<PlanFacts['toolCallLimits']>;
  /** Audio assets that the call may play, by id. */
  assets(session: SessionRecord, agent: SessionAgent | null): Promise<Record<string, PlanAsset>>;
}

/** Audio assets that an agent names, each where it acts. */
export function playedAssets(agent: Pick<SessionAgent, 'config' | 'flow_definition'> | null): string[] {
  const { greeting, background_audio: background, transfer } = agent?.config ?? {};
  const flow = agent?.flow_definition;
  const inNodes = flow ? assetsIn(flowDefinitionSchema.parse(flow)) : [];
  const held = transfer?.destinations.flatMap((one) =>
    one.mode === 'warm' ? [one.hold_audio_asset_id] : [],
  );
  const played = [greeting?.audio_asset_id, background?.audio_asset_id, ...(held ?? []), ...inNodes];
  return [...new Set(played.filter((id) => typeof id === 'string'))];
}

/** What sessions cost. */
export interface PlanCosts {
  /**
   * The prices of a session, the same for all of its legs until another agent takes it over, and what was counted before;
   * null: no rates.
   * @param session with the models of the agent that speaks
   * @param models all that the agent may use
   */
  open(
    session: SessionRecord,
    models: () => Promise<PlannedModel[]>,
  ): Promise<(CallPrices & { spent: number }) | null>;
}

export interface PlanSettings {
  recordingStore: 'file' | 's3' | 'upload';
  outboundAllow: readonly string[];
}

/** Makes session plans: the agent with its providers, tools, memories and history. */
export class SessionPlans {
  readonly #sources: PlanSources;
  readonly #store: SessionStore;
  readonly #catalog: ModelCatalog;
  readonly #costs: PlanCosts;
  readonly #tools: SessionTools;
  readonly #directory: Directory;
  readonly #settings: PlanSettings;

  constructor(deps: {
    sources: PlanSources;
    store: SessionStore;
    catalog: ModelCatalog;
    costs: PlanCosts;
    tools: SessionTools;
    directory: Directory;
    settings: PlanSettings;
  }) {
    this.#sources = deps.sources;
    this.#store = deps.store;
    this.#catalog = deps.catalog;
    this.#costs = deps.costs;
    this.#tools = deps.tools;
    this.#directory = deps.directory;
    this.#settings = deps.settings;
  }

  /** The plan of the session's leg for the socket with this claim. @param agent the one that speaks on it */
  async make(session: SessionRecord, agent: SessionAgent | null, claimId: string): Promise<SessionPlanWire> {
    const spoken = withModelsOf(session, agent);
    const providersOf = resolveProviders(this.#catalog, spoken, agent);
    const flowOfAgent = flowOf(this.#catalog, spoken, agent);
    const models = async () => modelsOf(await providersOf, await flowOfAgent);
    const [
      recording,
      providers,
      flow,
      prices,
      history,
      project,
      tools,
      memories,
      mayNote,
      toolCallLimits,
      assets,
    ] = await Promise.all([
      this.#sources.recording(session, session.leg, agent?.config.recording.format ?? 'wav'),
      providersOf,
      flowOfAgent,
      this.#costs.open(spoken, models),
      session.leg === 0 ? [] : this.#sources.history(session._id),
      this.#directory.project(session.project_id),
      agent ? this.#tools.forPlan(agent) : [],
      this.#sources.memories(session, agent),
      this.#sources.mayNote(session, agent),
      this.#sources.toolCallLimits(session),
      this.#sources.assets(session, agent),
    ]);
    if (session.recording_id === null && session.record) {
      await this.#store.change(session._id, { recording_id: recording._id }, { recording_id: null });
    }
    const org = await this.#directory.org(session.org_id);
    const mayKnow = org?.feature_flags['knowledge_bases'] !== false;
    const plan = toSessionPlan({
      session,
      agent,
      projectTimezone: project?.timezone ?? org?.timezone ?? 'UTC',
      claimId,
      leg: session.leg,
      recording,
      history,
      providers,
      prices,
      tools,
      flow: flow && (mayKnow ? flow : withoutKnowledge(flow)),
      knowledgeBaseIds: mayKnow ? (agent?.knowledge_base_ids ?? []) : [],
      memories,
      mayNote,
      toolCallLimits,
      assets,
      ...this.#settings,
    });
    return toConsultPlan(plan, session);
  }
}
