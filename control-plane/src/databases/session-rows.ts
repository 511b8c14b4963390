import { createHash } from 'node:crypto';
import type { Model } from 'mongoose';
import type { Logger } from '@parley/shared/logging/logger';
import { AppError } from '@parley/shared/errors/app-error';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { SessionStore } from '../sessions/session-store.ts';
import type { Database } from '../storage/database.ts';
import { fittingValue } from './database-columns.ts';
import type { Column } from './database-columns.ts';
import { databaseCollection } from './database-model.ts';
import type { DatabaseRecord } from './database-model.ts';
import type { AutoDatabases } from './auto-database.ts';
import type { RowStore } from './row-store.ts';

/** A session after its analyses. */
export interface AnalysedSession {
  session: SessionRecord;
  agent: SessionAgent | null;
  /** The fields of the call-ended webhook. */
  lead: Readonly<Record<string, unknown>>;
  /** What the analyses of its own found. */
  results: readonly {
    analysis_id: string | null;
    status: string;
    structured_json: Record<string, unknown> | null;
    body_text: string | null;
  }[];
}

const PAGE = 1000;

/** Turns sessions into rows of the databases that their agents are attached to. */
export class SessionRows {
  readonly #databases: Model<DatabaseRecord>;
  readonly #auto: AutoDatabases;
  readonly #rows: RowStore;
  readonly #store: SessionStore;
  readonly #logger: Logger;

  constructor(deps: {
    database: Database;
    autoDatabases: AutoDatabases;
    rows: RowStore;
    store: SessionStore;
    logger: Logger;
  }) {
    this.#databases = deps.database.model(databaseCollection);
    this.#auto = deps.autoDatabases;
    this.#rows = deps.rows;
    this.#store = deps.store;
    this.#logger = deps.logger;
  }

  /** Adds a row to each database; again changes nothing. */
  async add(facts: AnalysedSession): Promise<void> {
    const { session, agent } = facts;
    if (!agent) return;
    const auto = agent.config.auto_database;
    // Made when the agent was, unless a process died in between.
    if (auto) await this.#auto.ensure({ ...agent, _id: agent.agent_id });
    const { org_id, project_id } = session;
    const attached = await this.#databases
      .find({ agent_ids: agent.agent_id, org_id, project_id })
      .limit(PAGE)
      .lean<DatabaseRecord[]>();
    const databases = attached.filter((one) => auto || one.owner_agent_id !== agent.agent_id);
    for (const database of databases) await this.#addTo(database, facts);
    // It may have been erased meanwhile: then its erasure saw no row, or not all.
    const now = databases.length > 0 ? await this.#store.find(session._id) : null;
    if (databases.length > 0 && (now === null || now.erased_at !== null))
      await this.#rows.forgetSession(session._id);
  }

  async #addTo(database: DatabaseRecord, facts: AnalysedSession): Promise<void> {
    const { session } = facts;
    const values = Object.fromEntries(
      database.columns.map((column) => [column.key, fittingValue(column, found(column, facts))]),
    );
    try {
      await this.#rows.insert(database, [
        {
          id: rowId(database._id, session._id),
          values,
          source: 'session',
          session_id: session._id,
          agent_id: session.agent_id,
          subjects: subjectsOf(session),
        },
      ]);
    } catch (error) {
      // A full database, or one that was deleted just now, holds up neither the others nor the webhook.
      if (!(error instanceof AppError)) throw error;
      const details = { sessionId: session._id, databaseId: database._id, code: error.code };
      this.#logger.warn(details, 'a session did not become a row');
    }
  }
}

function found({ source }: Column, { session, lead, results }: AnalysedSession): unknown {
  switch (source.from) {
    case 'session':
      return source.path === 'id' ? session._id : session[source.path];
    case 'lead':
      return lead[source.path];
    case 'variable':
      return Object.hasOwn(session.variables, source.path) ? session.variables[source.path] : null;
    case 'analysis': {
      const result = results.find((one) => one.analysis_id === source.analysis_id && one.status === 'done');
      return (
        result &&
        (result.structured_json === null ? result.body_text : at(result.structured_json, source.path))
      );
    }
    case 'manual':
      return null;
  }
}

/** @param path names separated by dots; empty: the whole */
function at(value: unknown, path: string): unknown {
  if (path === '') return value;
  let inner = value;
  for (const name of path.split('.')) {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return null;
    inner = (inner as Record<string, unknown>)[name];
  }
  return inner;
}

/** One for each session in a database, whoever adds it, and however often. */
function rowId(databaseId: string, sessionId: string): string {
  return `dbr_${createHash('sha256').update(`${databaseId}:${sessionId}`).digest('hex').slice(0, 26)}`;
}

/** The caller: by the number at the far end, and by the name that the project has for them. */
function subjectsOf(session: SessionRecord): string[] {
  const { user_identifier, channel, direction, from_number, to_number } = session;
  const number = channel === 'telephony' ? (direction === 'outbound' ? to_number : from_number) : null;
  return [user_identifier, number].filter((subject) => subject !== null);
}
