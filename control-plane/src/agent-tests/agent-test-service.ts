import {
  ConflictError,
  NotFoundError,
  TooManyRequestsError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import type { ValidationDetail } from '@parley/shared/errors/app-error';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { AgentRecord } from '../agents/agent-record.ts';
import type { CallLog } from '../calls/call-log.ts';
import { commonFilter, equalities } from '../http/list-query.ts';
import type { AnyOf, ListInput } from '../http/list-query.ts';
import { patchMap } from '../http/patch-schema.ts';
import { invalid } from '../http/validation.ts';
import { checkVariableCount } from '../http/value-schemas.ts';
import { coversLanguage, type ModelCatalog } from '../providers/model-catalog.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { defined } from '../storage/defined.ts';
import type { ListPage } from '../storage/list.ts';
import { principalId } from '../tenancy/principal.ts';
import type { Principal } from '../tenancy/principal.ts';
import { checkRoom } from '../tenancy/record-limit.ts';
import { missingReferences, referenceNotFound } from '../tenancy/references.ts';
import type { Loc, Reference } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import {
  agentTestCollection,
  agentTestResultCollection,
  agentTestRunCollection,
  contentOf,
} from './agent-test-model.ts';
import type { AgentTestRecord, AgentTestResultRecord, AgentTestRunRecord } from './agent-test-model.ts';
import type {
  AgentTestCheck,
  AgentTestContent,
  CreateAgentTestRequest,
  PatchAgentTestRequest,
  StartTestRunRequest,
} from './agent-test-schema.ts';
import { CALLER_LANGUAGES } from './voice-caller.ts';

/** Conversations of one run. */
const MAX_RESULTS = 1000;
/** Runs of an org that are not over; more are refused. */
const MAX_UNFINISHED = 50;
const RETRY_AFTER_SECONDS = 60;
/** Of one test as JSON: it travels to the gateway. */
const MAX_CONTENT_BYTES = 262_144;
const MAX_TURNS = 100;
const MAX_CALLER_TEXT = 4000;
/** What keys a caller pressed is written like this in a transcript. */
const KEYS = '(keys) ';

/** What only a voice has. */
const ONLY_ALOUD: readonly AgentTestCheck['kind'][] = ['max_latency_ms'];
/** A turn does not know what the whole conversation comes to. */
const ONLY_AT_THE_END: readonly AgentTestCheck['kind'][] = ['variable', 'ended_by'];

/** Who runs what was asked for. */
export interface TestRunners {
  /** There is a new run. */
  wake(): void;
  /** A run was cancelled: its conversations end now, where this process holds them. */
  stop(runId: string): void;
}

/** Versions of agents: `AgentVersions`. @throws NotFoundError */
export interface TestedVersions {
  get(scope: Scope, agent: AgentRecord, version: number): Promise<{ version: number }>;
}

/** What tests are made from, and name. */
export interface NamedByTests {
  sessions: Collection<SessionRecord>;
  tools: Collection<StoredRecord & { type: string }>;
}

/** Tests of agents, their runs and results. */
export class AgentTestService {
  readonly #database: Database;
  readonly #versions: TestedVersions;
  readonly #models: ModelCatalog;
  readonly #callLog: CallLog;
  readonly #runner: TestRunners;
  readonly #clock: Clock;
  readonly #named: NamedByTests;

  constructor(deps: {
    database: Database;
    versions: TestedVersions;
    models: ModelCatalog;
    callLog: CallLog;
    runner: TestRunners;
    clock: Clock;
    named: NamedByTests;
  }) {
    this.#database = deps.database;
    this.#named = deps.named;
    this.#versions = deps.versions;
    this.#models = deps.models;
    this.#callLog = deps.callLog;
    this.#runner = deps.runner;
    this.#clock = deps.clock;
  }

  list(scope: Scope, agentId: string, list: ListInput): Promise<ListPage<AgentTestRecord>> {
    const filter = { ...commonFilter(list), agent_id: agentId };
    return scope.collection(agentTestCollection).page(filter, list);
  }

  /** @throws ValidationError; ConflictError `limit_reached` */
  async create(scope: Scope, agent: AgentRecord, request: CreateAgentTestRequest): Promise<AgentTestRecord> {
    const { name, from_session_id: sessionId, type, channel = 'text', ...given } = request;
    if (sessionId !== undefined) {
      const more = Object.keys({ ...given, ...(type === undefined ? {} : { type }) });
      if (more.length > 0)
        throw invalid(
          ['body', more[0]!],
          'cannot be combined with from_session_id: it is copied from the session',
          'extra_forbidden',
        );
    }
    const said = sessionId === undefined ? given : await this.#fromSession(scope, agent, sessionId);
    const content = filled({ ...said, channel });
    const kind = type ?? (sessionId === undefined ? undefined : 'scripted');
    if (kind === undefined) throw invalid(['body', 'type'], 'Field required', 'missing');
    await this.#check(scope, kind, content);
    await checkRoom(scope.collection(agentTestCollection));
    return scope.collection(agentTestCollection).insert({
      _id: newId('tst', this.#clock.now()),
      agent_id: agent._id,
      name,
      type: kind,
      content: JSON.stringify(withIds(content)),
    });
  }

  /** @throws ValidationError, NotFoundError */
  async update(
    scope: Scope,
    test: AgentTestRecord,
    request: PatchAgentTestRequest,
  ): Promise<AgentTestRecord> {
    const { name, variables, persona, ...given } = request;
    return scope.collection(agentTestCollection).change(test, ['content'], async (before) => {
      const current = contentOf(before);
      const content: AgentTestContent = { ...current, ...defined(given) };
      content.variables = patchMap(current.variables, variables);
      if (persona) {
        if (!current.persona) throw noUse('persona', test.type);
        content.persona = { ...current.persona, ...defined(persona) };
      }
      checkVariableCount(content.variables);
      await this.#check(scope, test.type, content);
      return { name, content: JSON.stringify(withIds(content)) };
    });
  }

  async delete(scope: Scope, test: AgentTestRecord): Promise<void> {
    await scope.collection(agentTestCollection).delete({ _id: test._id });
  }

  // Runs

  /**
   * @throws ConflictError `invalid_state` for an archived agent; ValidationError for tests and versions that are not
   *   there; TooManyRequestsError `queue_full`
   */
  async startRun(
    scope: Scope,
    caller: Principal,
    agent: AgentRecord,
    request: StartTestRunRequest,
  ): Promise<AgentTestRunRecord> {
    if (agent.archived_at)
      throw new ConflictError('invalid_state', 'The agent is archived. Restore it first.');
    const version = await this.#version(scope, agent, request.version);
    const tests = await this.#tests(scope, agent, request.test_ids);
    const total = tests.length * request.iterations;
    if (total > MAX_RESULTS) {
      throw invalid(
        ['body', 'iterations'],
        `a run can have at most ${MAX_RESULTS} conversations`,
        'too_long',
      );
    }
    const runs = this.#database.model(agentTestRunCollection);
    const unfinished = await runs.countDocuments(
      { org_id: scope.orgId, status: { $in: ['queued', 'running'] } },
      { limit: MAX_UNFINISHED },
    );
    if (unfinished >= MAX_UNFINISHED) {
      throw new TooManyRequestsError(
        'queue_full',
        `Limit of unfinished test runs reached (${MAX_UNFINISHED}). Wait for one to finish, or cancel it.`,
        RETRY_AFTER_SECONDS,
      );
    }
    const now = this.#clock.now();
    const runId = newId('trn', now);
    // The results first: who takes the run up must find them.
    await this.#database.model(agentTestResultCollection).insertMany(
      tests.flatMap((test, position) =>
        Array.from({ length: request.iterations }, (_, index) => ({
          // Ids sort in the order in which they are run.
          _id: newId('trs', now + index * tests.length + position),
          org_id: scope.orgId,
          project_id: scope.projectId,
          agent_id: agent._id,
          test_run_id: runId,
          test_id: test._id,
          iteration: index + 1,
          content: test.content,
          status: 'pending' as const,
        })),
      ),
    );
    const run = await scope.collection(agentTestRunCollection).insert({
      _id: runId,
      agent_id: agent._id,
      agent_version: version,
      status: 'queued',
      total,
      passed: 0,
      failed: 0,
      errored: 0,
      created_by: principalId(caller),
      started_at: null,
      ended_at: null,
      lease_owner: null,
      lease_until: null,
    });
    this.#runner.wake();
    return run;
  }

  runs(
    scope: Scope,
    agentId: string,
    list: ListInput & AnyOf<AgentTestRunRecord, 'status'>,
  ): Promise<ListPage<AgentTestRunRecord>> {
    const filter = { ...commonFilter(list), agent_id: agentId, ...equalities({ status: list.status }) };
    return scope.collection(agentTestRunCollection).page(filter, list);
  }

  results(
    scope: Scope,
    runId: string,
    list: ListInput & AnyOf<AgentTestResultRecord, 'status'>,
  ): Promise<ListPage<AgentTestResultRecord>> {
    const filter = { ...commonFilter(list), test_run_id: runId, ...equalities({ status: list.status }) };
    return scope.collection(agentTestResultCollection).page(filter, list);
  }

  /** @throws ConflictError `invalid_state` when it is over */
  async cancel(scope: Scope, run: AgentTestRunRecord): Promise<AgentTestRunRecord> {
    const ended_at = new Date(this.#clock.now());
    const cancelled = await scope
      .collection(agentTestRunCollection)
      .update(
        { _id: run._id, status: { $in: ['queued', 'running'] } },
        { $set: { status: 'cancelled', ended_at } },
      );
    if (!cancelled) throw new ConflictError('invalid_state', 'The test run has already finished.');
    this.#runner.stop(run._id);
    await scope
      .collection(agentTestResultCollection)
      .updateMany(
        { test_run_id: run._id, status: { $in: ['pending', 'running'] } },
        { $set: { status: 'cancelled', ended_at } },
      );
    return cancelled;
  }

  async #version(scope: Scope, agent: AgentRecord, wanted: number | null): Promise<number> {
    if (wanted === null) return agent.version;
    try {
      return (await this.#versions.get(scope, agent, wanted)).version;
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
      throw invalid(['body', 'version'], 'Version not found', 'reference_not_found');
    }
  }

  async #tests(scope: Scope, agent: AgentRecord, ids: readonly string[] | null): Promise<AgentTestRecord[]> {
    const tests = await scope
      .collection(agentTestCollection)
      .find(
        { agent_id: agent._id, ...(ids === null ? {} : { _id: { $in: [...ids] } }) },
        { sort: { _id: 1 }, limit: MAX_RESULTS + 1 },
      );
    const known = new Set(tests.map((test) => test._id));
    const missing = (ids ?? []).flatMap((id, index) =>
      known.has(id) ? [] : [referenceNotFound(['body', 'test_ids', index])],
    );
    if (missing.length > 0) throw new ValidationError(missing);
    if (tests.length === 0) throw invalid(['body', 'test_ids'], 'the agent has no tests', 'too_short');
    return tests;
  }

  /** What the caller said in a call that took place. */
  async #fromSession(
    scope: Scope,
    agent: AgentRecord,
    sessionId: string,
  ): Promise<Pick<AgentTestContent, 'turns' | 'variables'>> {
    const loc = ['body', 'from_session_id'];
    const session = await scope
      .collection(this.#named.sessions)
      .findOne({ _id: sessionId, project_id: agent.project_id });
    if (!session) throw new ValidationError([referenceNotFound(loc)]);
    const said = await this.#callLog.turns(session._id);
    const turns = said
      .flatMap(({ role, text }, at) => {
        if (role !== 'caller' || text.trim() === '' || text.startsWith(KEYS)) return [];
        return [{ caller: text.trim().slice(0, MAX_CALLER_TEXT), expect: nodesReached(said, at) }];
      })
      .slice(0, MAX_TURNS);
    if (turns.length === 0) throw invalid(loc, 'the session has no stored caller turns');
    return { turns, variables: session.variables };
  }

  async #check(scope: Scope, type: AgentTestRecord['type'], content: AgentTestContent): Promise<void> {
    const details: ValidationDetail[] = [];
    const missing = (field: string) =>
      details.push({ loc: ['body', field], msg: `Field required for the type ${type}`, type: 'missing' });
    if (type === 'scripted') {
      if (content.turns.length === 0) missing('turns');
      if (content.persona) throw noUse('persona', type);
    } else {
      if (!content.persona) missing('persona');
      if (content.turns.length > 0) throw noUse('turns', type);
    }
    const references: Reference[] = [];
    const named = (tool_id: string, loc: Loc) =>
      references.push({ collection: this.#named.tools, id: tool_id, loc: [...loc, 'tool_id'] });
    const seen = new Set<string>();
    for (const { check, loc, inTurn } of placed(content)) {
      if (check.id !== undefined) {
        if (seen.has(check.id))
          details.push({ loc: [...loc, 'id'], msg: 'is already the id of another check', type: 'duplicate' });
        seen.add(check.id);
      }
      const why =
        inTurn && ONLY_AT_THE_END.includes(check.kind)
          ? 'can only be checked at the end of the conversation: move it to checks'
          : content.channel !== 'voice' && ONLY_ALOUD.includes(check.kind)
            ? 'requires the channel "voice"'
            : undefined;
      if (why !== undefined) details.push({ loc: [...loc, 'kind'], msg: why, type: 'not_available' });
      if ('tool_id' in check) named(check.tool_id, loc);
      if (check.kind === 'variable' && !check.op.endsWith('exists') && check.value === undefined)
        details.push({ loc: [...loc, 'value'], msg: 'Field required', type: 'missing' });
    }
    content.tool_mocks.forEach((mock, index) => named(mock.tool_id, ['body', 'tool_mocks', index]));
    details.push(...(await this.#mocksOfNoFunction(scope, content)));
    if (Buffer.byteLength(JSON.stringify(content)) > MAX_CONTENT_BYTES)
      details.push({ loc: ['body'], msg: `must be at most ${MAX_CONTENT_BYTES} bytes`, type: 'too_long' });
    details.push(...(await missingReferences(scope, references)));
    if (
      content.channel === 'voice' &&
      content.persona &&
      !coversLanguage(CALLER_LANGUAGES, content.persona.language)
    )
      details.push({
        loc: ['body', 'persona', 'language'],
        msg: 'must be English for the channel "voice": the local voice speaks nothing else',
        type: 'not_available',
      });
    const llmId = content.persona?.llm_id ?? null;
    if (llmId !== null) {
      const model = await this.#models.find(scope.orgId, llmId, scope.projectId);
      if (model?.kind !== 'llm') details.push(referenceNotFound(['body', 'persona', 'llm_id']));
    }
    if (details.length > 0) throw new ValidationError(details);
  }

  /** Mocks that name a function of a tool which has none: they would never answer. */
  async #mocksOfNoFunction(
    scope: Scope,
    { tool_mocks }: Pick<AgentTestContent, 'tool_mocks'>,
  ): Promise<ValidationDetail[]> {
    const named = tool_mocks.flatMap(({ tool_id, function: name }, index) =>
      (name ?? null) === null ? [] : [{ tool_id, index }],
    );
    if (named.length === 0) return [];
    const ids = [...new Set(named.map(({ tool_id }) => tool_id))];
    const plain = await scope
      .collection(this.#named.tools)
      .find({ _id: { $in: ids }, type: 'webhook' }, { limit: ids.length });
    return named
      .filter(({ tool_id }) => plain.some(({ _id }) => _id === tool_id))
      .map(({ index }) => ({
        loc: ['body', 'tool_mocks', index, 'function'],
        msg: 'is only for MCP servers and apps',
        type: 'value_error',
      }));
  }
}

/** Removes what an agent's purge takes along; sessions stay. */
export async function removeTestsOf(scope: Scope, agentId: string): Promise<void> {
  const ofAgent = { agent_id: agentId };
  await scope.collection(agentTestCollection).deleteMany(ofAgent);
  // A run under way finds itself gone, and stops.
  await scope.collection(agentTestRunCollection).deleteMany(ofAgent);
  await scope.collection(agentTestResultCollection).deleteMany(ofAgent);
}

/** Whether a run against this version was completed and all of it passed. */
export async function hasPassedRun(scope: Scope, agentId: string, version: number): Promise<boolean> {
  const run = await scope.collection(agentTestRunCollection).findOne({
    agent_id: agentId,
    agent_version: version,
    status: 'completed',
    failed: 0,
    errored: 0,
  });
  return run !== null;
}

/** What was said in a session goes out of the reasons of its result. */
export async function eraseTestReasons(database: Database, sessionId: string): Promise<void> {
  const results = database.model(agentTestResultCollection);
  const result = await results.findOne({ session_id: sessionId }).lean<AgentTestResultRecord>();
  if (!result) return;
  const checks = result.checks.map((check) => ({ ...check, reason: '' }));
  await results.updateOne({ _id: result._id }, { $set: { checks } });
}

type Given = { [K in keyof AgentTestContent]?: AgentTestContent[K] | undefined };

function filled(given: Given & Pick<AgentTestContent, 'channel'>): AgentTestContent {
  return {
    channel: given.channel,
    variables: given.variables ?? {},
    turns: given.turns ?? [],
    persona: given.persona ?? null,
    max_turns: given.max_turns ?? 20,
    timeout_seconds: given.timeout_seconds ?? 300,
    checks: given.checks ?? [],
    tool_mocks: given.tool_mocks ?? [],
  };
}

/** All checks, and where they stand. */
function placed(content: AgentTestContent): { check: AgentTestCheck; loc: Loc; inTurn: boolean }[] {
  return [
    ...content.turns.flatMap(({ expect }, turn) =>
      expect.map((check, index) => ({
        check,
        loc: ['body', 'turns', turn, 'expect', index],
        inTurn: true,
      })),
    ),
    ...content.checks.map((check, index) => ({ check, loc: ['body', 'checks', index], inTurn: false })),
  ];
}

/** Every check has an id: its own, or the first free one of ours. */
function withIds(content: AgentTestContent): AgentTestContent {
  const taken = new Set(placed(content).flatMap(({ check }) => check.id ?? []));
  let next = 1;
  const name = (check: AgentTestCheck): AgentTestCheck => {
    if (check.id !== undefined) return check;
    while (taken.has(`check_${next}`)) next++;
    const id = `check_${next++}`;
    return { ...check, id };
  };
  return {
    ...content,
    turns: content.turns.map((turn) => ({ ...turn, expect: turn.expect.map(name) })),
    checks: content.checks.map(name),
  };
}

function noUse(field: string, type: string): ValidationError {
  return invalid(['body', field], `is not allowed for the type ${type}`, 'extra_forbidden');
}

/** The node of the flow that a turn of the caller led to, where it led to another one. */
function nodesReached(
  turns: readonly { role: string; node_id?: string | null }[],
  at: number,
): { kind: 'node_reached'; node_id: string }[] {
  const answer = turns[at + 1];
  const id = answer?.role === 'agent' ? answer.node_id : undefined;
  return id == null || id === turns[at]!.node_id ? [] : [{ kind: 'node_reached', node_id: id }];
}
