import { randomUUID } from 'node:crypto';
import mongoose from 'mongoose';
import t from 'tap';
import { newId } from '@parley/shared/ids/new-id';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { agentCollection } from '../src/agents/agent-model.ts';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { contactCollection } from '../src/campaigns/contact-model.ts';
import { campaignCollection } from '../src/campaigns/campaign-model.ts';
import { invoiceCollection } from '../src/invoices/invoice-model.ts';
import { knowledgeFileCollection } from '../src/knowledge-bases/files/knowledge-file-model.ts';
import { memberCollection } from '../src/members/member-model.ts';
import { OrgRemover } from '../src/orgs/org-remover.ts';
import { projectCollection } from '../src/projects/project-model.ts';
import { searchRoutes } from '../src/search/search-routes.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import { sessionSearch } from '../src/sessions/session-search.ts';
import { phoneNumberCollection } from '../src/telephony/phone-number-model.ts';
import { providerCredentialCollection } from '../src/providers/provider-credential-model.ts';
import type { Collection, StoredRecord } from '../src/storage/collection.ts';
import { uccComplaintCollection } from '../src/ucc-complaints/ucc-complaint-model.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

interface Org {
  id: string;
  slug: string;
  status: string;
}
interface Page<T> {
  items: T[];
  total: number;
}

void t.test('orgs and projects', async (t) => {
  const clock = new ManualClock(Date.now());
  const cp = await openTestControlPlane({ clock, env: { REGISTRATION: 'open' } });
  t.teardown(() => cp[Symbol.asyncDispose]());
  const registered = await cp.call<{ access_token: string }>('POST', '/auth/v1/register', {
    token: null,
    body: {
      email: 'owner@example.com',
      password: 'correct horse battery',
      name: 'Olga',
      setup_code: cp.app.services.userAccounts.setupCode(),
    },
  });
  const token = registered.body.access_token;

  void t.test('an owner makes further orgs; others do not see them', async (t) => {
    const made = await cp.call<Org>('POST', '/v1/orgs', { token, body: { name: 'Ünïted Söcks' } });
    t.equal(made.status, 201);
    t.match(made.body, { slug: 'united-socks', status: 'active', timezone: 'UTC', currency: 'USD' });
    const same = await cp.call<Org>('POST', '/v1/orgs', { token, body: { name: 'United socks' } });
    t.match(same.body.slug, /^united-socks-.{6}$/);
    t.equal((await cp.call<Page<Org>>('GET', '/v1/orgs', { token })).body.total, 3);
    t.equal((await cp.call<Page<Org>>('GET', '/v1/orgs')).body.total, 1);
    t.equal((await cp.call('GET', `/v1/orgs/${made.body.id}`)).status, 404);
    const changed = await cp.call('PATCH', `/v1/orgs/${made.body.id}`, {
      token,
      body: { timezone: 'Asia/Kolkata' },
    });
    t.match(changed.body, { timezone: 'Asia/Kolkata' });
    t.equal(
      (await cp.call('PATCH', `/v1/orgs/${made.body.id}`, { token, body: { timezone: 'Mars' } })).status,
      422,
    );
  });

  void t.test('an archived project takes its keys with it', async (t) => {
    const { org } = cp.first;
    const project = await cp.call<{ id: string; default_llm_id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects`,
      {
        token,
        body: { name: 'Second' },
      },
    );
    t.equal(project.status, 201);
    t.equal(project.body.default_llm_id, 'llm_openai_gpt41_mini');
    const path = `/v1/projects/${project.body.id}`;
    const key = await cp.call<{ key: string }>('POST', `${path}/api-keys`, { token, body: { name: 'k' } });
    t.equal((await cp.call('GET', '/v1/me', { token: key.body.key })).status, 200);
    t.equal((await cp.call('GET', path)).status, 404, 'another project is not visible to a key');
    t.equal((await cp.call('DELETE', path, { token })).status, 204);
    t.equal((await cp.call('GET', '/v1/me', { token: key.body.key })).status, 401);
    t.match((await cp.call('PATCH', path, { token, body: { name: 'x' } })).body, { code: 'invalid_state' });
    t.match((await cp.call('GET', path, { token })).body, { archived_at: /Z$/ });
  });

  void t.test('a feature that is switched off answers 403 and keeps its data', async (t) => {
    const { org, project } = cp.first;
    const bases = `/v1/orgs/${org._id}/projects/${project._id}/knowledge-bases`;
    t.equal((await cp.call('POST', bases, { body: { name: 'Manuals' } })).status, 201);
    const flag = `/v1/orgs/${org._id}/feature-flags/knowledge_bases`;
    t.match((await cp.call('PUT', flag, { body: { enabled: false } })).body, { code: 'user_required' });
    const none = flag.replace('knowledge_bases', 'telepathy');
    t.equal((await cp.call('PUT', none, { token, body: { enabled: true } })).status, 404);
    const flags = await cp.call<{ items: { key: string; enabled: boolean }[] }>(
      'GET',
      `/v1/orgs/${org._id}/feature-flags`,
    );
    t.ok(flags.body.items.length > 8 && flags.body.items.every(({ enabled }) => enabled), 'all are on');
    const realtime = flag.replace('knowledge_bases', 'realtime_websocket');
    await cp.call('PUT', realtime, { token, body: { enabled: false } });
    const agent = await cp.call<{ id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects/${project._id}/agents`,
      {
        body: { name: 'Flagged' },
      },
    );
    const mint = { body: { agent_id: agent.body.id } };
    t.match((await cp.call('POST', '/v1/realtime/sessions', mint)).body, { code: 'feature_disabled' });
    await cp.call('PUT', realtime, { token, body: { enabled: true } });
    t.equal((await cp.call('POST', '/v1/realtime/sessions', mint)).status, 200);
    const off = await cp.call('PUT', flag, { token, body: { enabled: false } });
    t.match(off.body, { key: 'knowledge_bases', enabled: false, default: true });
    t.match((await cp.call('GET', bases)).body, { code: 'feature_disabled' });
    await cp.call('PUT', flag, { token, body: { enabled: true } });
    t.match((await cp.call('GET', bases)).body, { total: 1 });
    t.equal(
      (await cp.call('PUT', flag.replace('knowledge_bases', 'nothing'), { token, body: { enabled: true } }))
        .status,
      404,
    );
  });

  void t.test('a search finds any record of the org, as far as the caller may read', async (t) => {
    const { org, project } = cp.first;
    const other = await cp.makeTenant();
    const second = await cp.call<{ id: string }>('POST', `/v1/orgs/${org._id}/projects`, {
      token,
      body: { name: 'Zebra' },
    });
    const make = async (what: string, name: string, { projectId = project._id, as = token } = {}) => {
      const orgId = as === other.apiKey ? other.org._id : org._id;
      const path = `/v1/orgs/${orgId}/projects/${projectId}/${what}`;
      const made = await cp.call<{ id: string }>('POST', path, { token: as, body: { name } });
      t.equal(made.status, 201, `${what} ${name}`);
      return made.body.id;
    };
    const agent = await make('agents', 'Zebra (sales)');
    await make('agents', 'Okapi');
    const base = await make('knowledge-bases', 'About every zebra');
    const hidden = await make('agents', 'Zebra of the second', { projectId: second.body.id });
    await make('agents', 'Zebra of another org', { projectId: other.project._id, as: other.apiKey });
    const native = cp.app.services.database.model(sessionCollection).collection;
    const session = {
      ...{ org_id: org._id, project_id: project._id, agent_id: null, channel: 'web', direction: 'web' },
      ...{ transport: 'websocket', status: 'ended', test_run_id: null, parent_session_id: null },
      ...{ variables: { name: 'Zoe Zebra' }, user_identifier: null, words: ['zoe', 'zebra'] },
    };
    const [called, nobody] = [randomUUID(), randomUUID()];
    await native.insertMany([
      { ...session, _id: called as never, created_at: new Date() },
      ...Array.from({ length: 200 }, (_, n) => ({
        ...session,
        _id: (n === 0 ? nobody : randomUUID()) as never,
        variables: {},
        words: n < 100 ? ['zoe', 'common'] : [],
        created_at: new Date(n),
      })),
    ]);
    type Hits = Page<{
      type: string;
      id: string;
      name: string;
      project_id: string | null;
      parent_id: string | null;
    }> & {
      total_capped?: true;
    };
    // Agents have databases of their names.
    const types = 'types=project&types=agent&types=session&types=knowledge_base';
    const search = (query: string, as = token) =>
      cp.call<Hits>('GET', `/v1/orgs/${org._id}/search?${query}`, { token: as });
    const found = async (query: string, as?: string) =>
      (await search(query.includes('types') ? query : `${query}&${types}`, as)).body.items.map(
        ({ id }) => id,
      );

    const all = [second.body.id, hidden, agent, called, base];
    t.same(await found('q=zebra'), all, 'best first');
    t.same(await found('q=zebra&limit=2'), all.slice(0, 2));
    t.match((await search(`q=zebra&limit=2&${types}`)).body, { total: 2, total_capped: true });
    const byKey = (await search(`q=zebra&${types}`, cp.first.apiKey)).body;
    t.same(
      byKey.items.map(({ id }) => id),
      [agent, called, base],
      'a key finds what its project has',
    );
    t.match(byKey.items[1], { type: 'session', name: 'Zoe Zebra', project_id: project._id });
    t.same(await found('q=SALES%20zeb'), [agent], 'all words, in any order');
    t.same(await found('q=(sales)'), [agent], 'what means something in patterns is a text');
    t.same(await found(`q=${base}`), [base], 'by id');
    t.same(await found(`q=${hidden}`, cp.first.apiKey), []);
    t.same(await found(`q=${nobody}`), [nobody]);
    t.match((await search('q=SALES', token)).body.items[0], { type: 'database', name: 'Zebra (sales)' });
    t.same(await found('q=zebra&types=knowledge_base&types=session'), [called, base]);
    t.same((await search('q=quagga')).body, { items: [], total: 0 });
    t.equal((await search('q=zebra', other.apiKey)).status, 404, 'another org');
    t.ok([200, 422].includes((await search('q=a%00')).status), 'a zero byte is no server error');
    for (const bad of ['', 'q=', 'q=%20', `q=${'a%20'.repeat(9)}`, 'q=a&types=secret', 'q=a&limit=51'])
      t.equal((await search(bad)).status, 422, bad);

    const dated = await make('agents', 'Launch 2026-11');
    t.same(await found('q=2026-11'), [dated], 'digits with signs between them are a part of a name too');
    const line = { _id: newId('num'), org_id: org._id, project_id: project._id, created_at: new Date() };
    await cp.app.services.database
      .model(phoneNumberCollection)
      .collection.insertOne({ ...line, phone_number: '+14155550123', label: 'Front desk' } as never);
    for (const q of ['(415) 555-01', '%2B1 415 555 0123', 'front'])
      t.match(
        (await search(`q=${q}`)).body.items,
        [{ type: 'phone_number', id: line._id, name: '+14155550123 (Front desk)' }],
        q,
      );
    const old = await make('agents', 'quokka');
    for (let n = 0; n < 3; n++) await make('agents', `No quokka ${n}`);
    t.equal((await found('q=Quokka&limit=1'))[0], old, 'the best one is found however old it is');

    const { database, directory } = cp.app.services;
    const member = await signInUser(cp, 'narrowed@example.com');
    await member.join(org._id, 'viewer');
    await database
      .model(memberCollection)
      .updateOne({ org_id: org._id, user_id: member.userId }, { $set: { project_ids: [second.body.id] } });
    directory.forget(member.userId);
    t.same(await found('q=zebra', member.token), all.slice(0, 2), 'a member finds what their projects have');
    t.same(await found(`q=${nobody}`, member.token), []);

    const flag = `/v1/orgs/${org._id}/feature-flags/knowledge_bases`;
    await cp.call('PUT', flag, { token, body: { enabled: false } });
    t.same(await found('q=zebra'), all.slice(0, 4), 'nothing of a feature that is off');
    await cp.call('PUT', flag, { token, body: { enabled: true } });

    const listed = await cp.call<{ id: string }>(
      'POST',
      `/v1/orgs/${org._id}/projects/${project._id}/recipient-lists`,
      {
        token,
        body: { name: 'Guests', kind: 'recipients' },
      },
    );
    const person = await cp.call<{ id: string }>('POST', `/v1/recipient-lists/${listed.body.id}/recipients`, {
      token,
      body: { recipients: [{ phone_number: '+14155550177', name: 'Gnu' }] },
    });
    t.equal(person.status, 201);
    const put = async (collection: Collection<StoredRecord>, record: object) => {
      const common = { org_id: org._id, created_at: new Date(), updated_at: new Date() };
      await database.model(collection).collection.insertOne({ ...common, ...record } as never);
    };
    const file = newId('kbf', Date.now());
    await put(knowledgeFileCollection, {
      ...{ _id: file, project_id: project._id, knowledge_base_id: base, type: 'file', name: 'gnus.pdf' },
      ...{ content_key: 'gnus', status: 'ready', chunk_count: 1 },
    });
    const campaign = newId('cmp', Date.now());
    await put(campaignCollection, { _id: campaign, project_id: project._id, name: 'Calls', kind: 'batch' });
    const contact = newId('cct', Date.now());
    await put(contactCollection, {
      ...{ _id: contact, project_id: project._id, campaign_id: campaign, phone_number: '+14155550177' },
      ...{ unique_number: '+14155550177', name: 'Gnu', status: 'pending', removed: false },
    });
    const [complaint, invoice, credential] = [newId('ucc', 0), newId('inv', 0), newId('prv', 0)];
    await put(uccComplaintCollection, {
      ...{
        _id: complaint,
        telephony_account_id: 'tel_gnu',
        reference_id: 'gnu-1',
        to_number: '+14155550177',
      },
    });
    await put(invoiceCollection, { _id: invoice, month_key: 'gnu', number: 'GNU-2026-1', status: 'open' });
    await put(providerCredentialCollection, {
      _id: credential,
      name: 'Gnu speech',
      values: 'x',
      project_ids: null,
    });
    const apiKey = await cp.call<{ id: string; key: string; key_start: string }>(
      'POST',
      `/v1/projects/${project._id}/api-keys`,
      { token, body: { name: 'Gnu reader', role: 'viewer' } },
    );
    const gnus = async (q: string, as?: string) =>
      (await search(`q=${encodeURIComponent(q)}`, as)).body.items.map(({ type }) => type).sort();
    const everybody = ['invoice', 'knowledge_file', 'provider_credential', 'ucc_complaint'];
    t.same(await gnus('gnu'), [...everybody, 'api_key', 'recipient'].sort());
    t.same(
      await gnus('gnu', apiKey.body.key),
      [...everybody, 'recipient'].sort(),
      'viewers may not list keys',
    );
    t.same(
      await gnus('gnu', member.token),
      ['provider_credential', 'ucc_complaint'],
      'nor a part of an org its invoices',
    );
    t.same(await gnus('olga'), ['member']);
    t.same(await gnus('owner@example'), ['member']);
    t.same(await gnus('olga', apiKey.body.key), [], 'no key lists members');
    t.ok((await gnus(apiKey.body.key_start)).includes('api_key'), 'by what keys begin with');
    t.same(await gnus('1 (415) 555-0177'), ['contact', 'recipient', 'ucc_complaint']);
    t.same(await gnus('+14155550'), ['contact', 'phone_number', 'recipient', 'ucc_complaint']);
    t.same(await gnus('+141555'), ['phone_number', 'ucc_complaint'], 'six digits begin too many');
    t.same(
      await gnus('+14155550177', member.token),
      ['ucc_complaint'],
      'people of other projects are not found',
    );
    // Its contact is of an earlier version: it has no words yet.
    for (const worker of cp.app.features.workers)
      if (worker.name === 'names of contacts') await worker.work(new AbortController().signal);
    t.ok((await gnus('gnu')).includes('contact'), 'by the name, too');
    const [found1] = (await search(`q=${contact}`)).body.items;
    t.match(found1, { id: contact, parent_id: campaign, name: 'Gnu (+14155550177)' });
    t.match((await search('q=gnus.pdf')).body.items[0], { id: file, parent_id: base });

    const sources = [{ type: 'secret', list: 'listSecrets', find: () => Promise.resolve([]) }];
    t.throws(
      () => searchRoutes({ sources, routes: cp.app.features.routes, directory }),
      /No list says who may find/,
    );

    const scope = new Scope(database, { orgId: org._id, projectId: null, projects: null, role: 'viewer' });
    const few = sessionSearch({ projects: projectCollection }, 50);
    const both = { text: 'zoe common', words: [], digits: null };
    t.equal(
      (await few.find(scope, both, 200)).length,
      49,
      'of words that are everywhere: among the 50 newest',
    );

    const sent: [string, object, { sort?: object; limit?: number }][] = [];
    mongoose.set('debug', (collection: string, method: string, filter: object, options: object) => {
      // Others are sent meanwhile, by what runs besides requests.
      if (method === 'find' && JSON.stringify(filter).includes(org._id))
        sent.push([collection, filter, options]);
    });
    t.teardown(() => mongoose.set('debug', false));
    await search('q=zoe%20zebra', token);
    await search('q=%2B14155550177', token);
    await search('q=gnu', token);
    mongoose.set('debug', false);
    t.ok(
      new Set(sent.map(([name]) => name)).size >= cp.app.features.searches.length,
      'every kind is asked for',
    );
    for (const [name, filter, options] of sent) {
      const known = cp.app.features.collections.find((one) => one.name === name)!;
      const { collection } = cp.app.services.database.model(known);
      const explained = await collection
        .find(filter, { sort: options.sort as never, limit: options.limit! })
        .explain('executionStats');
      const { queryPlanner, executionStats } = explained as unknown as {
        queryPlanner: object;
        executionStats: { totalDocsExamined: number };
      };
      t.notMatch(JSON.stringify(queryPlanner), /COLLSCAN/, `${name} is read by an index`);
      const inOrg = await collection.countDocuments({ org_id: org._id });
      const most = name === 'sessions' ? 1 : inOrg;
      t.ok(executionStats.totalDocsExamined <= most, `${name}: ${executionStats.totalDocsExamined} read`);
    }
  });

  void t.test('a deleted org is closed at once and gone after thirty days', async (t) => {
    const other = await cp.makeTenant();
    await cp.app.services.orgs.addOwner(
      other.org._id,
      (await cp.app.services.userAccounts.userByEmail('owner@example.com'))!._id,
    );
    const path = `/v1/orgs/${other.org._id}`;
    const agents = `${path}/projects/${other.project._id}/agents`;
    t.equal((await cp.call('POST', agents, { token: other.apiKey, body: { name: 'A' } })).status, 201);
    t.equal((await cp.call('DELETE', `${path}?confirm=nope`, { token })).status, 422);
    const deleted = await cp.call<Org>('DELETE', `${path}?confirm=${other.org.slug}`, { token });
    t.equal(deleted.status, 202);
    t.equal(deleted.body.status, 'deleting');
    t.equal((await cp.call('POST', agents, { token: other.apiKey, body: { name: 'B' } })).status, 403);

    const { services } = cp.app;
    const remover = new OrgRemover({
      ...services,
      collections: cp.app.features.collections,
      giveUp: (scope) => cp.app.features.eraseOrg(scope),
      storageDir: services.config.STORAGE_DIR,
      owner: services.processName,
    });
    t.equal(await remover.runOnce(), 0, 'not yet');
    const agentsLeft = () =>
      services.database.model(agentCollection).countDocuments({ org_id: other.org._id });
    t.equal(await agentsLeft(), 1);
    const later = new ManualClock(clock.now() + 31 * 24 * 3_600_000);
    const inAMonth = new OrgRemover({
      ...services,
      clock: later,
      collections: cp.app.features.collections,
      giveUp: (scope) => cp.app.features.eraseOrg(scope),
      storageDir: services.config.STORAGE_DIR,
      owner: services.processName,
    });
    t.equal(await inAMonth.runOnce(), 1);
    t.equal(await agentsLeft(), 0);
    t.ok((await services.database.model(auditCollection).countDocuments({ org_id: other.org._id })) > 0);
  });

  void t.test('what touches access is in the audit trail', async (t) => {
    const entries = await cp.app.services.database
      .model(auditCollection)
      .find({ org_id: cp.first.org._id })
      .lean();
    const actions = entries.map((entry) => entry.action);
    for (const action of ['api_key.created', 'project.created', 'project.archived', 'feature_flag.changed']) {
      t.ok(actions.includes(action), action);
    }
    t.ok(entries.every((entry) => entry.actor !== ''));
  });
});
