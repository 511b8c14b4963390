import type { Model } from 'mongoose';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Database } from '../storage/database.ts';
import { analysisResultCollection } from './analysis-result-model.ts';
import type { AnalysisResultRecord } from './analysis-result-model.ts';
import type { LeadAnalysis } from './lead-analysis.ts';

/** What analyses made of sessions: one row for each analysis of each. */
export class AnalysisResults {
  readonly #results: Model<AnalysisResultRecord>;

  constructor(database: Database) {
    this.#results = database.model(analysisResultCollection);
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

  async saveLead(
    session: SessionRecord,
    llmId: string,
    set: Pick<AnalysisResultRecord, 'status' | 'structured_json' | 'error'>,
  ): Promise<void> {
    await this.#results.updateOne(
      { _id: leadRowId(session) },
      {
        $set: { ...set, llm_id: llmId },
        $setOnInsert: {
          org_id: session.org_id,
          project_id: session.project_id,
          session_id: session._id,
          analysis_id: null,
          rule_name: 'lead',
          source: 'system',
        },
      },
      { upsert: true },
    );
  }

  async erase(sessionId: string): Promise<void> {
    await this.#results.deleteMany({ session_id: sessionId });
  }
}

function leadRowId(session: SessionRecord): string {
  return `anr_${session._id}_lead`;
}
