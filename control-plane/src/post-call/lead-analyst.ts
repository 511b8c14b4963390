import type { Turn } from '@parley/shared/contracts/turn';
import type { Logger } from '@parley/shared/logging/logger';
import type { OrgChats } from '../providers/org-chats.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { AnalysisResults } from './analysis-results.ts';
import { analyseLead, LeadAnalysisError, type LeadAnalysis } from './lead-analysis.ts';

/** Makes the lead analysis of a session, where its agent asks for one. */
export class LeadAnalyst {
  readonly #results: AnalysisResults;
  readonly #chats: Pick<OrgChats, 'open'>;
  readonly #logger: Logger;

  constructor(deps: { results: AnalysisResults; chats: Pick<OrgChats, 'open'>; logger: Logger }) {
    this.#results = deps.results;
    this.#chats = deps.chats;
    this.#logger = deps.logger;
  }

  /** Once for each session. Its failure leaves null and holds nothing up. */
  async analyse(
    session: SessionRecord,
    agent: SessionAgent | null,
    turns: Turn[],
    signal: AbortSignal,
  ): Promise<LeadAnalysis | null> {
    const settings = agent?.config.analysis;
    if (!settings?.lead_analysis) return null;
    const llmId = settings.llm_id ?? session.llm_id;
    const done = await this.#results.lead(session);
    if (done) return done;
    const callerTurns = turns.filter((turn) => turn.role === 'caller').length;
    if (callerTurns < settings.min_caller_turns || turns.length === 0) {
      await this.#results.saveLead(session, llmId, { status: 'skipped', structured_json: null, error: null });
      return null;
    }
    try {
      const { org_id: orgId, project_id: projectId } = session;
      const model = await this.#chats.open({ orgId, projectId, llmId });
      if (!model) throw new LeadAnalysisError('model_unavailable');
      const lead = await analyseLead(
        model,
        {
          turns,
          goal: settings.goal,
          language: settings.language,
          date: (session.started_at ?? session.created_at).toISOString().slice(0, 10),
        },
        signal,
      );
      await this.#results.saveLead(session, llmId, {
        status: 'done',
        structured_json: { ...lead },
        error: null,
      });
      return lead;
    } catch (error) {
      if (signal.aborted || !(error instanceof LeadAnalysisError)) throw error;
      this.#logger.warn({ sessionId: session._id, code: error.message }, 'lead analysis failed');
      await this.#results.saveLead(session, llmId, {
        status: 'failed',
        structured_json: null,
        error: error.message,
      });
      return null;
    }
  }
}
