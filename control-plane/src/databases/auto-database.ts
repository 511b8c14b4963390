import type { Model } from 'mongoose';
import { newId } from '@parley/shared/ids/new-id';
import type { Clock } from '@parley/shared/time/clock';
import type { Collection, StoredRecord } from '../storage/collection.ts';
import type { Database } from '../storage/database.ts';
import { isDuplicateKey } from '../storage/duplicate.ts';
import type { Column, ColumnType } from './database-columns.ts';
import { databaseCollection } from './database-model.ts';
import type { DatabaseRecord } from './database-model.ts';
import { withColumns } from './known-keys.ts';

/** An agent, as far as the database of its calls is concerned. */
export type AutoDatabaseAgent = StoredRecord & {
  org_id: string;
  project_id: string;
  auto_database_id: string | null;
};

/** Session id, direction, numbers, status and duration, then every field of the lead analysis. */
const COLUMNS: Column[] = [
  fromSession('session_id', 'id', 'Session', 'text'),
  fromSession('direction', 'direction', 'Direction', 'text'),
  fromSession('from_number', 'from_number', 'From', 'phone'),
  fromSession('to_number', 'to_number', 'To', 'phone'),
  fromSession('status', 'status', 'Status', 'text'),
  fromSession('duration_seconds', 'duration_seconds', 'Duration (s)', 'number'),
  fromLead('customer_name', 'Name', 'text'),
  fromLead('mobile_number', 'Phone', 'phone'),
  fromLead('email', 'E-mail', 'text'),
  fromLead('company_name', 'Company', 'text'),
  fromLead('lead_source', 'Lead source', 'text'),
  fromLead('call_datetime', 'Call time', 'datetime'),
  fromLead('call_duration', 'Call duration (s)', 'number'),
  fromLead('call_status', 'Call status', 'text'),
  fromLead('call_direction', 'Call direction', 'text'),
  fromLead('lead_status', 'Lead status', 'text'),
  fromLead('lead_temperature', 'Temperature', 'text'),
  fromLead('ai_summary', 'Summary', 'text'),
  fromLead('lead_score', 'Score', 'number'),
  fromLead('next_action', 'Next action', 'text'),
  fromLead('next_follow_up_date', 'Follow up on', 'text'),
  fromLead('crm_stage', 'Stage', 'text'),
  fromLead('send_whatsapp', 'Send WhatsApp', 'boolean'),
  fromLead('send_email', 'Send e-mail', 'boolean'),
  fromLead('reminder_to_sales_team', 'Remind sales', 'boolean'),
  fromLead('goal_status', 'Goal', 'text'),
];

/** Databases that agents get by their setting `auto_database`: one each, for their calls. */
export class AutoDatabases {
  readonly #databases: Model<DatabaseRecord>;
  readonly #agents: Model<AutoDatabaseAgent>;
  readonly #clock: Clock;

  constructor(deps: { database: Database; agents: Collection<AutoDatabaseAgent>; clock: Clock }) {
    this.#databases = deps.database.model(databaseCollection);
    this.#agents = deps.database.model(deps.agents);
    this.#clock = deps.clock;
  }

  /** Makes the database of an agent unless it has one, and notes it on the agent. @returns its id */
  async ensure(agent: { _id: string; org_id: string; project_id: string; name: string }): Promise<string> {
    const id = await this.#made(agent);
    await this.#agents.updateOne(
      { _id: agent._id, auto_database_id: { $ne: id } },
      { $set: { auto_database_id: id } },
      { timestamps: false },
    );
    return id;
  }

  async #made(agent: { _id: string; org_id: string; project_id: string; name: string }): Promise<string> {
    const own = { owner_agent_id: agent._id };
    const known = await this.#databases.findOne(own).select({ _id: 1 }).lean<{ _id: string }>();
    if (known) return known._id;
    try {
      const Record = this.#databases;
      const { _id } = await new Record({
        _id: newId('dbs', this.#clock.now()),
        org_id: agent.org_id,
        project_id: agent.project_id,
        name: agent.name,
        kind: 'auto',
        columns: COLUMNS,
        known_keys: withColumns(null, COLUMNS, 0),
        agent_ids: [agent._id],
        owner_agent_id: agent._id,
        row_count: 0,
      }).save();
      return _id;
    } catch (error) {
      if (!isDuplicateKey(error, 'owner_agent_id')) throw error;
      return this.#made(agent);
    }
  }
}

function fromSession(
  key: string,
  path: Extract<Column['source'], { from: 'session' }>['path'],
  label: string,
  type: ColumnType,
): Column {
  return { key, label, type, options: [], source: { from: 'session', path } };
}

function fromLead(
  path: Extract<Column['source'], { from: 'lead' }>['path'],
  label: string,
  type: ColumnType,
): Column {
  return { key: path, label, type, options: [], source: { from: 'lead', path } };
}
