import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import type { AnalysisRecord } from '../analyses/analysis-record.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Database } from '../storage/database.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import type { LeadAnalysis } from './lead-analysis.ts';
import { NO_CONTENT, type RuleOutcome } from './rule-runner.ts';

/** What a row is of. */
type RowOf = Pick<AnalysisResultRecord, '_id' | 'analysis_id' | 'rule_name' | 'source'>;

/** What analyses made of sessions: one row for each analysis of each. */
export class AnalysisResults {
  readonly #results: Model<AnalysisResultRecord>;
  readonly #sessions: Pick<SessionStore, 'find'>;

  constructor(deps: { database: Database; store: Pick<SessionStore, 'find'> }) {
    this.#results = deps.database.model(analysisResultCollection);
    this.#sessions = deps.store;
  }

  ofSession(sessionId: string): Promise<AnalysisResultRecord[]> {
    return this.#results
      .find({ session_id: sessionId })
      .sort({ created_at: 1, _id: 1 })
      .limit(200)
      .lean<AnalysisResultRecord[]>();
  }

  /** The lead analysis of a session that has one. */
  async lead(session: SessionRecord): Promise<LeadAnalysis | null> {
    const done = await this.#results
      .findOne({ _id: leadRowId(session), status: 'done' })
      .lean<AnalysisResultRecord>();
    return (done?.structured_json ?? null) as LeadAnalysis | null;
  }

  saveLead(
    session: SessionRecord,
    llmId: string,
    set: Pick<AnalysisResultRecord, 'status' | 'structured_json' | 'error'>,
  ): Promise<void> {
    return this.#save(session, leadRow(session), { ...set, llm_id: llmId });
  }

  saveRule(session: SessionRecord, rule: AnalysisRecord, llmId: string, outcome: RuleOutcome): Promise<void> {
    return this.#save(session, ruleRow(session, rule), { ...outcome, llm_id: llmId });
  }

  /** The row of a rule, if there is one. */
  rule(session: SessionRecord, rule: AnalysisRecord): Promise<AnalysisResultRecord | null> {
    return this.#results.findOne({ _id: ruleRowId(session._id, rule._id) }).lean<AnalysisResultRecord>();
  }

  /** Marks rows as waiting for a new run, which replaces what they hold. */
  async await(
    session: SessionRecord,
    of: { lead: boolean; rules: readonly AnalysisRecord[] },
  ): Promise<void> {
    const rows = of.rules.map((rule) => ruleRow(session, rule));
    for (const row of of.lead ? [leadRow(session), ...rows] : rows)
      await this.#save(session, row, { status: 'pending' });
  }

  /** A run that was given up leaves no row waiting. */
  async giveUp(sessionId: string): Promise<void> {
    await this.#results.updateMany(
      { session_id: sessionId, status: { $in: ['pending', 'running'] } },
      { $set: { ...NO_CONTENT, status: 'failed', error: 'internal' } },
    );
  }

  async erase(sessionId: string): Promise<void> {
    await this.#results.deleteMany({ session_id: sessionId });
  }

  async #save(
    session: SessionRecord,
    { _id, ...row }: RowOf,
    set: Partial<AnalysisResultRecord>,
  ): Promise<void> {
    const { rule_name, ...own } = row;
    await this.#results.updateOne(
      { _id },
      {
        $set: { ...set, rule_name },
        $setOnInsert: {
          org_id: session.org_id,
          project_id: session.project_id,
          session_id: session._id,
          ...own,
        },
      },
      { upsert: true },
    );
    // It may have been erased while the model was thinking.
    const now = await this.#sessions.find(session._id);
    if (now?.erased_at !== null) await this.erase(session._id);
  }
}

function leadRow(session: SessionRecord): RowOf {
  return { _id: leadRowId(session), analysis_id: null, rule_name: 'lead', source: 'system' };
}

function ruleRow(session: SessionRecord, { _id, name }: AnalysisRecord): RowOf {
  return { _id: ruleRowId(session._id, _id), analysis_id: _id, rule_name: name, source: 'rule' };
}

function leadRowId(session: SessionRecord): string {
  return `anr_${session._id}_lead`;
}

function ruleRowId(sessionId: string, analysisId: string): string {
  return `anr_${createHash('sha256').update(`${sessionId}:${analysisId}`).digest('hex').slice(0, 26)}`;
}
