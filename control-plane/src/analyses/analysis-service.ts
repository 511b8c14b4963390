import type { z } from 'zod';
import { ValidationError } from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import type { ModelCatalog } from '../providers/model-catalog.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import { missingReferences, referenceNotFound } from '../tenancy/references.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import type { Scope } from '../tenancy/scope.ts';
import { analysisCollection } from './analysis-model.ts';
import type { AnalysisRecord } from './analysis-record.ts';
import type { createAnalysisRequest, patchAnalysisRequest } from './analysis-schema.ts';

/** Agents that an analysis is attached to: `AgentLinks`. */
export interface AnalysisLinks {
  detachEverywhere(scope: Scope, caller: Principal, kind: 'analyses', id: string): Promise<void>;
}

/** Versions of agents: `StoredAgents`. */
export interface AnalysisAgents {
  contentOf(
    agentId: string,
    version: number,
  ): Promise<{ analyses: readonly { id: string; enabled: boolean }[] } | null>;
}

/** A tool, as far as it matters here. */
export type AnalysisTool = StoredRecord & { execution: { confirm: boolean } };

/** What is asked about a call once it is over. */
export class AnalysisService {
  readonly #database: Database;
  readonly #agents: AnalysisAgents;
  readonly #links: AnalysisLinks;
  readonly #tools: Collection<AnalysisTool>;
  readonly #models: ModelCatalog;
  readonly #clock: Clock;

  constructor(deps: {
    database: Database;
    agents: AnalysisAgents;
    links: AnalysisLinks;
    models: ModelCatalog;
    /** Those that an analysis may answer through. */
    tools: Collection<AnalysisTool>;
    clock: Clock;
  }) {
    this.#database = deps.database;
    this.#agents = deps.agents;
    this.#links = deps.links;
    this.#tools = deps.tools;
    this.#models = deps.models;
    this.#clock = deps.clock;
  }

  list(
    scope: Scope,
    list: ListInput & AnyOf<AnalysisRecord, 'type'> & { enabled?: boolean | undefined },
  ): Promise<ListPage<AnalysisRecord>> {
    const filter = { ...commonFilter(list), ...equalities({ type: list.type, enabled: list.enabled }) };
    return scope.collection(analysisCollection).page(filter, list);
  }

  async create(scope: Scope, request: z.output<typeof createAnalysisRequest>): Promise<AnalysisRecord> {
    await this.#check(scope, request);
    await checkRoom(scope.collection(analysisCollection));
    const { output_schema: schema } = request;
    return scope.collection(analysisCollection).insert({
      _id: newId('ana', this.#clock.now()),
      ...request,
      output_schema: schema === null ? null : JSON.stringify(schema),
    });
  }

  async update(
    scope: Scope,
    analysis: AnalysisRecord,
    request: z.output<typeof patchAnalysisRequest>,
  ): Promise<AnalysisRecord> {
    const { output_schema: schema, run_when: runWhen, ...rest } = request;
    const basis = ['run_when', 'output_schema', 'tool_id', 'llm_id'] as const;
    return scope.collection(analysisCollection).change(analysis, basis, async (current) => {
      const change: Partial<AnalysisRecord> = defined(rest);
      if (schema !== undefined) change.output_schema = schema === null ? null : JSON.stringify(schema);
      if (runWhen) change.run_when = { ...current.run_when, ...defined(runWhen) };
      await this.#check(scope, { ...current, ...change });
      return change;
    });
  }

  /** Takes it off every agent; its results stay. */
  async delete(scope: Scope, caller: Principal, analysis: AnalysisRecord): Promise<void> {
    await this.#links.detachEverywhere(scope, caller, 'analyses', analysis._id);
    await scope.collection(analysisCollection).delete({ _id: analysis._id });
    // Once more, for an agent that attached it just now.
    await this.#links.detachEverywhere(scope, caller, 'analyses', analysis._id);
  }

  /** Those of `ids` that the project does not have. */
  async missing(orgId: string, projectId: string, ids: readonly string[]): Promise<string[]> {
    const found = await this.byIds(orgId, projectId, ids);
    const known = new Set(found.map((analysis) => analysis._id));
    return ids.filter((id) => !known.has(id));
  }

  /** Those of `ids` that the project has, in their order. */
  async byIds(orgId: string, projectId: string, ids: readonly string[]): Promise<AnalysisRecord[]> {
    const found = await this.#database
      .model(analysisCollection)
      .find({ _id: { $in: ids }, org_id: orgId, project_id: projectId })
      .lean<AnalysisRecord[]>();
    const order = new Map(ids.map((id, index) => [id, index]));
    return found.sort((a, b) => order.get(a._id)! - order.get(b._id)!);
  }

  /** Ids of the enabled analysis links of an agent version. */
  async attachedTo(agentId: string, version: number): Promise<string[]> {
    const content = await this.#agents.contentOf(agentId, version);
    return (content?.analyses ?? []).filter((link) => link.enabled).map((link) => link.id);
  }

  async #check(
    scope: Scope,
    fields: {
      type: AnalysisRecord['type'];
      output_schema: unknown;
      tool_id: string | null;
      llm_id: string | null;
    },
  ): Promise<void> {
    const details: ValidationDetail[] = [];
    const needed = { structured: 'output_schema', tool: 'tool_id', text: null } as const;
    for (const field of ['output_schema', 'tool_id'] as const) {
      const isNeeded = needed[fields.type] === field;
      if (isNeeded && fields[field] === null) {
        details.push({
          loc: ['body', field],
          msg: `Field required for the type ${fields.type}`,
          type: 'missing',
        });
      } else if (!isNeeded && fields[field] !== null) {
        details.push({
          loc: ['body', field],
          msg: `is not allowed for the type ${fields.type}`,
          type: 'extra_forbidden',
        });
      }
    }
    if (fields.tool_id !== null) {
      const reference = { collection: this.#tools, id: fields.tool_id, loc: ['body', 'tool_id'] };
      const missing = await missingReferences(scope, [reference]);
      details.push(...missing);
      const [tool] =
        missing.length > 0
          ? []
          : await scope.collection(this.#tools).find({ _id: fields.tool_id }, { limit: 1 });
      if (tool?.execution.confirm)
        details.push({
          loc: ['body', 'tool_id'],
          msg: 'names a tool that asks the caller before it runs: after a call nobody can be asked',
          type: 'not_available',
        });
    }
    if (fields.llm_id !== null) {
      const model = await this.#models.find(scope.orgId, fields.llm_id, scope.projectIdOrNull);
      if (model?.kind !== 'llm') details.push(referenceNotFound(['body', 'llm_id']));
    }
    if (details.length > 0) throw new ValidationError(details);
  }
}
