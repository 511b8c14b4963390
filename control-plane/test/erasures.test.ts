import t from 'tap';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';

interface Page {
  items: { session_id: string; user_identifier: string | null }[];
  total: number;
}

void t.test(
  'a person is forgotten in one call: sessions that are over at once, others when they end',
  async (t) => {
    const cp = await openTestControlPlane();
    t.teardown(() => cp[Symbol.asyncDispose]());
    const P = `/v1/orgs/${cp.first.org._id}/projects/${cp.first.project._id}`;
    const agent = await cp.call<{ id: string }>('POST', `${P}/agents`, { body: { name: 'Agent' } });
    const mint = async (user_identifier: string) =>
      (
        await cp.call<{ session_id: string }>('POST', '/v1/realtime/sessions', {
          body: { agent_id: agent.body.id, user_identifier, variables: { name: 'Asha' } },
        })
      ).body.session_id;
    const end = (id: string) => cp.call('POST', `/v1/sessions/${id}/end`);
    const over = await mint('asha');
    await end(over);
    const waiting = await mint('asha');
    const other = await mint('somebody else');
    const sessions = cp.app.services.database.model(sessionCollection);
    // A call by number, as a carrier brings them.
    const called = await mint('caller');
    await end(called);
    await sessions.updateOne(
      { _id: called },
      { $set: { from_number: '+14155550123', numbers: ['+14155550123'] } },
    );

    const erase = (subject: string) => cp.call('POST', `${P}/erasures`, { body: { subject } });
    t.same((await erase('asha')).body, { sessions: 2, recordings: 0, memories: 0, rows: 0, contacts: 0 });
    t.match((await erase('+14155550123')).body, { sessions: 1 });
    t.match((await erase('asha')).body, { sessions: 0 }, 'again finds nothing');
    const known = await sessions.findOne({ _id: over }).lean();
    t.match(known, { user_identifier: null, variables: {}, erased_at: Date });
    t.same((await sessions.findOne({ _id: called }).lean())?.numbers, []);

    await end(waiting);
    await cp.app.services.reaper.sweep(new AbortController().signal);
    t.match(await sessions.findOne({ _id: waiting }).lean(), { user_identifier: null, variables: {} });
    const left = await cp.call<Page>('GET', `${P}/sessions?user_identifier=asha`);
    t.equal(left.body.total, 0);
    t.match((await cp.call('GET', `/v1/sessions/${other}`)).body, { user_identifier: 'somebody else' });

    const entries = await cp.app.services.database.model(auditCollection).find().limit(1000).lean();
    t.equal(entries.filter(({ action }) => action === 'person.erased').length, 3);
    t.notMatch(JSON.stringify(entries), /asha|14155550123/);
    t.equal((await erase('')).status, 422);
  },
);
