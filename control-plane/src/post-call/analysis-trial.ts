import type { Turn } from '@parley/shared/contracts/turn';
import { TooManyRequestsError, ValidationError } from '@parley/shared/errors/app-error';
import type { AnalysisRecord } from '../analyses/analysis-record.ts';
import { toTurn, type CallLog } from '../calls/call-log.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Collection } from '../storage/collection.ts';
import type { Directory } from '../tenancy/directory.ts';
import { referenceNotFound } from '../tenancy/references.ts';
import type { Scope } from '../tenancy/scope.ts';
import { RULES_MS } from './rule-analyses.ts';
import type { RuleOutcome, RuleRunner } from './rule-runner.ts';

/** Of this process: each holds a request to a model open. */
const MAX_TRIALS_AT_ONCE = 8;

/** A transcript that was sent along. */
export type GivenTranscript = readonly Pick<Turn, 'role' | 'text'>[];

/** Runs an analysis without keeping what comes of it. */
export class AnalysisTrial {
  readonly #runner: RuleRunner;
  readonly #callLog: Pick<CallLog, 'turns'>;
  readonly #directory: Pick<Directory, 'project'>;
  readonly #sessions: Collection<SessionRecord>;
  #running = 0;

  constructor(deps: {
    runner: RuleRunner;
    callLog: Pick<CallLog, 'turns'>;
    directory: Pick<Directory, 'project'>;
    /** Where transcripts are looked for. */
    sessions: Collection<SessionRecord>;
  }) {
    this.#runner = deps.runner;
    this.#callLog = deps.callLog;
    this.#directory = deps.directory;
    this.#sessions = deps.sessions;
  }

  /**
   * Runs it over a session's transcript or a given one, whatever its conditions say.
   * @throws ValidationError for a session that the project does not have, PaymentRequiredError, TooManyRequestsError
   */
  async run(
    scope: Scope,
    rule: AnalysisRecord,
    of: { sessionId: string } | { transcript: GivenTranscript },
    signal: AbortSignal,
  ): Promise<{ outcome: RuleOutcome; llmId: string | null }> {
    const { turns, llmId, session } = await this.#subject(scope, rule, of);
    const model = rule.llm_id ?? llmId;
    await this.#runner.requireFunds(rule, model === null ? [] : [model]);
    if (this.#running >= MAX_TRIALS_AT_ONCE) {
      const message = 'Too many analyses are being tried. Retry in a few seconds.';
      throw new TooManyRequestsError('rate_limited', message, 5);
    }
    this.#running++;
    try {
      const question = { rule, turns, llmId: model, session };
      const outcome = await this.#runner.run(
        question,
        AbortSignal.any([signal, AbortSignal.timeout(RULES_MS)]),
      );
      return { outcome, llmId: model };
    } finally {
      this.#running--;
    }
  }

  /** What was said, and the model that is asked unless the rule names one. */
  async #subject(
    scope: Scope,
    rule: AnalysisRecord,
    of: { sessionId: string } | { transcript: GivenTranscript },
  ): Promise<{ turns: Turn[]; llmId: string | null; session: SessionRecord | null }> {
    if ('transcript' in of) {
      const project = await this.#directory.project(rule.project_id);
      const turns = of.transcript.map(({ role, text }, turn_index) => {
        return { turn_index, role, text, start_ms: 0, end_ms: 0, interrupted: false, redacted: false };
      });
      return { turns, llmId: project?.default_llm_id ?? null, session: null };
    }
    const [session] = await scope
      .collection(this.#sessions)
      .find({ _id: of.sessionId, project_id: rule.project_id }, { limit: 1 });
    if (!session) throw new ValidationError([referenceNotFound(['body', 'session_id'])]);
    const turns = (await this.#callLog.turns(session._id)).map(toTurn);
    return { turns, llmId: session.llm_id, session };
  }
}
