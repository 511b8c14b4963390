import t from 'tap';
import { sessionEventCollection } from '../calls/session-event-model.ts';
import { agentCollection } from '../agents/agent-model.ts';
import { sessionCollection } from '../sessions/session-model.ts';
import { wsTicketCollection } from '../ws-tickets/ws-ticket-model.ts';
import type { Collection, StoredRecord } from './collection.ts';
import { unconnectedDatabase } from './database.ts';
import { newRecord } from './new-record.ts';

const created_at = new Date('2030-01-02T03:04:05Z');
const tenant = { org_id: 'org_1', project_id: 'prj_1' };
const session = {
  _id: 's1',
  ...tenant,
  created_at,
  channel: 'telephony',
  direction: 'inbound',
  provider: 'twilio',
  transport: 'media_stream',
  status: 'created',
  llm_id: 'llm',
  stt_id: 'stt',
  tts_id: 'tts',
  agent_id: undefined,
  variables: { name: 'Ann' },
  slot_scopes: ['org:org_1'],
} as const;

/** What Mongoose itself would store. */
function byMongoose<T extends StoredRecord>(collection: Collection<T>, fields: object): object {
  const model = unconnectedDatabase().model(collection);
  return { ...new model({ updated_at: created_at, ...fields }).toObject() };
}

void t.test('a new record is the one that Mongoose makes', (t) => {
  t.same(
    newRecord(sessionCollection, { ...session, slot_scopes: ['org:org_1'] }),
    byMongoose(sessionCollection, session),
  );
  const ticket = { _id: 't1', created_at, kind: 'ticket', session_id: 's1', expires_at: created_at } as const;
  t.same(newRecord(wsTicketCollection, ticket), byMongoose(wsTicketCollection, ticket));
  const event = {
    _id: 'e1',
    ...tenant,
    created_at,
    session_id: 's1',
    index: 1,
    at: created_at,
    offset_ms: 0,
    type: 'state',
  };
  t.same(newRecord(sessionEventCollection, event), byMongoose(sessionEventCollection, event));
  t.end();
});

void t.test('defaults are not shared, and times are given where none are', (t) => {
  const fields = { ...session, slot_scopes: undefined, variables: undefined, created_at: undefined };
  const [one, other] = [newRecord(sessionCollection, fields), newRecord(sessionCollection, fields)];
  one.variables['name'] = 'Bob';
  one.slot_scopes.push('org:org_1');
  t.same([other.variables, other.slot_scopes], [{}, []]);
  t.ok(Math.abs(one.created_at.getTime() - Date.now()) < 60_000);
  t.equal(one.updated_at, one.created_at);
  t.end();
});

void t.test('what does not fit the schema is refused', (t) => {
  const make = (change: object) => () =>
    newRecord(sessionCollection, { ...session, slot_scopes: [], ...change });
  t.throws(make({ colour: 'red' }), /sessions have no field colour/);
  t.throws(make({ org_id: undefined }), /sessions: org_id is missing/);
  t.throws(make({ llm_id: null }), /sessions: llm_id is missing/);
  t.throws(make({ status: 'asleep' }), /status/);
  t.throws(make({ leg: '1' }), /leg/);
  t.throws(make({ join_by: 1 }), /join_by/);
  t.throws(() => newRecord(agentCollection, { _id: 'agt_1' }), /made by Mongoose alone/);
  t.end();
});
