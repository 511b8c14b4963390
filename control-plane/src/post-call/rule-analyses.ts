import { createHash } from 'node:crypto';
import type { Turn } from '@parley/shared/contracts/turn';
import type { AnalysisRecord } from '../analyses/analysis-record.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { AnalysisResults } from './analysis-results.ts';
import type { PostCallStep } from './post-call-run.ts';
import { NO_CONTENT, type RuleOutcome, type RuleRunner } from './rule-runner.ts';

/** The analyses that sessions name or agents have attached. */
export interface RuleSource {
  /** Those of `ids` that are there, in their order. */
  byIds(orgId: string, projectId: string, ids: readonly string[]): Promise<AnalysisRecord[]>;
  attachedTo(agentId: string, version: number): Promise<string[]>;
}

/** The webhook waits no longer; what comes later is left out of it. */
export const RULES_MS = 60_000;

/** A tool was called and its process died, or it took too long. */
const UNKNOWN = { ...NO_CONTENT, status: 'failed', error: 'outcome_unknown' } as const;

interface Facts {
  session: SessionRecord;
  turns: Turn[];
  signal: AbortSignal;
}

/** Runs the rules of an agent, or those the session named, side by side. A rule that fails says so in its row. */
export class RuleAnalyses implements PostCallStep {
  readonly #results: AnalysisResults;
  readonly #rules: RuleSource;
  readonly #runner: RuleRunner;

  constructor(deps: { results: AnalysisResults; analyses: RuleSource; runner: RuleRunner }) {
    this.#results = deps.results;
    this.#rules = deps.analyses;
    this.#runner = deps.runner;
  }

  async run(facts: Facts & { agent: SessionAgent | null }): Promise<void> {
    await this.#runAll(await this.ofSession(facts.session, facts.agent), facts);
  }

  /** The rules that follow a session: enabled ones of those it named, or of its agent's version. */
  async ofSession(session: SessionRecord, agent: SessionAgent | null): Promise<AnalysisRecord[]> {
    const ids =
      session.post_call_analysis_ids ??
      (agent ? await this.#rules.attachedTo(agent.agent_id, agent.version) : []);
    return (await this.#named(session, ids)).filter((rule) => rule.enabled);
  }

  /** Runs the rules of these ids, whatever their conditions say. */
  async runNamed(ids: readonly string[], facts: Facts): Promise<void> {
    await this.#runAll(await this.#named(facts.session, ids), facts, { always: true });
  }

  /** For runs that a request asks for. @throws PaymentRequiredError */
  requireFunds(session: SessionRecord, llmIds: readonly string[]): Promise<void> {
    return this.#runner.requireFunds(session, llmIds);
  }

  async #named(session: SessionRecord, ids: readonly string[]): Promise<AnalysisRecord[]> {
    return ids.length === 0 ? [] : this.#rules.byIds(session.org_id, session.project_id, ids);
  }

  async #runAll(
    rules: readonly AnalysisRecord[],
    { session, turns, signal: stopping }: Facts,
    { always = false }: { always?: boolean } = {},
  ): Promise<void> {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(RULES_MS)]);
    await Promise.all(
      rules.map(async (rule) => {
        const llmId = rule.llm_id ?? session.llm_id;
        const before = rule.type === 'tool' ? await this.#results.rule(session, rule) : null;
        // What a tool did is done: a job that is tried again does not call it again.
        if (before?.status === 'done' || isUnknown(before)) return;
        const why = always ? null : skipReason(rule, session);
        const beforeTool = () =>
          this.#results.saveRule(session, rule, llmId, { ...NO_CONTENT, status: 'running' });
        const outcome: RuleOutcome =
          before?.status === 'running'
            ? UNKNOWN
            : why === null
              ? await this.#runner.run({ rule, turns, llmId, session, beforeTool }, signal)
              : { ...NO_CONTENT, status: 'skipped', error: why };
        if (!isUnknown(outcome) && outcome.tool_invocation === null) stopping.throwIfAborted();
        await this.#results.saveRule(session, rule, llmId, outcome);
      }),
    );
  }
}

function isUnknown(outcome: Pick<RuleOutcome, 'status' | 'error'> | null): boolean {
  return outcome?.status === UNKNOWN.status && outcome.error === UNKNOWN.error;
}

/** Why a rule does not run on this session; null when it does. */
function skipReason(rule: AnalysisRecord, session: SessionRecord): string | null {
  const { channels, directions, min_duration_seconds, outcomes } = rule.run_when;
  if (channels && !channels.includes(session.channel)) return 'condition';
  if (directions && !directions.includes(session.direction)) return 'condition';
  if (min_duration_seconds !== null && (session.duration_seconds ?? 0) < min_duration_seconds)
    return 'condition';
  if (outcomes && !outcomes.includes(session.outcome ?? '')) return 'condition';
  // By the ids, so that a second run decides the same.
  const place = createHash('sha256').update(`${session._id}:${rule._id}`).digest().readUInt32BE(0) % 100;
  return place < rule.sample_percent ? null : 'sample';
}
