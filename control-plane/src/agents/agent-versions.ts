import { ConflictError, NotFoundError } from '@parley/shared/errors/app-error';
import { commonFilter } from '../http/list-query.ts';
import type { ListInput } from '../http/list-query.ts';
import { invalid } from '../http/validation.ts';
import type { ListPage } from '../storage/list.ts';
import type { Principal } from '../tenancy/principal.ts';
import type { Scope } from '../tenancy/scope.ts';
import { fillConfig } from './agent-config-input.ts';
import { versionId } from './agent-content.ts';
import type { AgentContents } from './agent-content.ts';
import type { AgentLinks } from './agent-links.ts';
import { agentCollection, agentVersionCollection } from './agent-model.ts';
import type { AgentRecord, AgentVersionRecord } from './agent-record.ts';
import type { AgentWriter } from './agent-writer.ts';

/** Whether all tests of a run against that version have passed. */
export interface PassedTests {
  (scope: Scope, agentId: string, version: number): Promise<boolean>;
}

/** What agents were, and which version answers. */
export class AgentVersions {
  readonly #writer: AgentWriter;
  readonly #contents: AgentContents;
  readonly #links: AgentLinks;
  readonly #hasPassedTests: PassedTests;

  constructor(deps: {
    writer: AgentWriter;
    contents: AgentContents;
    links: AgentLinks;
    hasPassedTests: PassedTests;
  }) {
    this.#writer = deps.writer;
    this.#contents = deps.contents;
    this.#links = deps.links;
    this.#hasPassedTests = deps.hasPassedTests;
  }

  list(scope: Scope, agent: AgentRecord, list: ListInput): Promise<ListPage<AgentVersionRecord>> {
    const filter = { ...commonFilter(list), agent_id: agent._id };
    return scope.collection(agentVersionCollection).page(filter, list);
  }

  /** @throws NotFoundError */
  async get(scope: Scope, agent: AgentRecord, version: number): Promise<AgentVersionRecord> {
    if (version === agent.version) await this.#writer.saveVersion(agent);
    return scope.collection(agentVersionCollection).get(versionId(agent._id, version));
  }

  async label(scope: Scope, agent: AgentRecord, version: number, label: string | null) {
    await this.get(scope, agent, version);
    const labelled = await scope
      .collection(agentVersionCollection)
      .update({ _id: versionId(agent._id, version) }, { $set: { label } });
    if (!labelled) throw new NotFoundError();
    return labelled;
  }

  /** The old content becomes the newest version. @throws ValidationError when something it names is gone */
  async restore(scope: Scope, caller: Principal, agent: AgentRecord, version: number): Promise<AgentRecord> {
    const { snapshot } = await this.get(scope, agent, version);
    const restored = await this.#writer.change(
      scope,
      caller,
      agent,
      { restoredFrom: version },
      async (current) => {
        await this.#contents.check(
          scope,
          snapshot,
          fillConfig({ config: snapshot.config, webhooks: current.webhooks }),
        );
        return { content: snapshot, webhooks: current.webhooks };
      },
    );
    return this.#links.dropDeleted(scope, caller, restored);
  }

  /**
   * @throws ValidationError; NotFoundError-like `reference_not_found` for versions that do not exist; ConflictError
   *   for those without a passed test run, where one is required
   */
  async setTraffic(
    scope: Scope,
    agent: AgentRecord,
    traffic: AgentRecord['traffic'],
  ): Promise<AgentRecord['traffic']> {
    const loc = ['body', 'splits'];
    if (traffic.mode === 'latest' && traffic.splits.length > 0)
      throw invalid(loc, 'must be empty when mode is latest');
    if (traffic.mode === 'pinned') {
      if (traffic.splits.reduce((sum, { weight }) => sum + weight, 0) !== 100)
        throw invalid(loc, 'weights must sum to 100');
      if (new Set(traffic.splits.map(({ version }) => version)).size < traffic.splits.length)
        throw invalid(loc, 'must name each version once');
    }
    for (const [index, split] of traffic.splits.entries()) {
      const known = await this.get(scope, agent, split.version).catch((error: unknown) => {
        if (error instanceof NotFoundError) return null;
        throw error;
      });
      if (!known) throw invalid([...loc, index, 'version'], 'Version not found', 'reference_not_found');
      if (traffic.require_passed_tests && !(await this.#hasPassedTests(scope, agent._id, split.version))) {
        throw new ConflictError(
          'conflict',
          `Version ${split.version} has no completed test run in which all tests passed.`,
        );
      }
    }
    const changed = await scope.collection(agentCollection).update({ _id: agent._id }, { $set: { traffic } });
    if (!changed) throw new NotFoundError();
    return changed.traffic;
  }
}
