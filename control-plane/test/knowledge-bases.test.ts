import t from 'tap';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { knowledgeFileCollection } from '../src/knowledge-bases/files/knowledge-file-model.ts';
import { eventually, openLoopbackServer } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';

interface Id {
  id: string;
}
interface File extends Id {
  status: string;
  error: string | null;
  chunk_count: number;
  sha256: string | null;
  name: string;
}
interface Found {
  total: number;
  items: {
    chunk_id: string;
    file_id: string;
    file_name: string;
    heading: string;
    text: string;
    score: number;
  }[];
}

/** An embedding model that knows one thing: what a car is, by whatever word. */
const embeddings = await openLoopbackServer(({ body }) => {
  const { input } = JSON.parse(body) as { input: string[] };
  const meaning = (text: string) => (/\b(cars?|autos?|vehicles?)\b/i.test(text) ? [1, 0, 0.1] : [0, 1, 0.1]);
  const data = input.map((text, index) => ({ object: 'embedding', index, embedding: meaning(text) }));
  return { status: 200, body: { object: 'list', data } };
});
t.teardown(() => embeddings[Symbol.asyncDispose]());
const site = await openLoopbackServer(({ path }) =>
  path === '/moved'
    ? { status: 302, headers: { location: '/help' } }
    : path === '/help' && page !== ''
      ? { status: 200, headers: { 'content-type': 'text/html' }, body: page }
      : { status: 404, body: 'no' },
);
t.teardown(() => site[Symbol.asyncDispose]());
let page = '<main><h1>Help</h1><p>Call the hotline.</p></main>';

const plane = await openTestControlPlane({
  env: { OPENAI_BASE_URL: `${embeddings.url}/v1`, OPENAI_API_KEY: 'sk-x', OUTBOUND_ALLOW: site.url },
});
t.teardown(() => plane[Symbol.asyncDispose]());
const P = `/v1/orgs/${plane.first.org._id}/projects/${plane.first.project._id}`;

const HOURS = [
  '# The shop',
  'We sell hand-made chairs and tables.',
  '## Opening hours',
  'From Monday to Friday we are open from nine to six. On Saturdays we close at noon.',
  '## Returns',
  'Unused goods are taken back within 30 days. Refunds are paid to the card that was used.',
].join('\n\n');

async function makeBase(more: object = {}): Promise<string> {
  const made = await plane.call<Id>('POST', `${P}/knowledge-bases`, {
    body: { name: 'Shop', embedding: 'none', ...more },
  });
  t.equal(made.status, 201);
  return made.body.id;
}

async function add(base: string, body: object): Promise<string> {
  const made = await plane.call<File>('POST', `/v1/knowledge-bases/${base}/files`, { body });
  t.match(made, { status: 202, body: { status: 'queued', error: null } });
  return made.body.id;
}

const fileOf = async (id: string) => (await plane.call<File>('GET', `/v1/knowledge-files/${id}`)).body;

async function settled(id: string): Promise<File> {
  await eventually(async () => ['ready', 'failed'].includes((await fileOf(id)).status));
  return fileOf(id);
}

const search = async (base: string, query: string, more: object = {}) =>
  (await plane.call<Found>('POST', `/v1/knowledge-bases/${base}/search`, { body: { query, ...more } })).body;

const upload = (base: string, name: string, content: string | Uint8Array<ArrayBuffer>, type = '') => {
  const body = new FormData();
  body.set('file', new File([content], name, { type }));
  return plane.call<File>('POST', `/v1/knowledge-bases/${base}/files`, { body });
};

void t.test('what a document says is found, and no more once it is deleted', async (t) => {
  const base = await makeBase();
  const id = await add(base, { name: 'shop.md', text: HOURS });
  t.match(await settled(id), { status: 'ready', error: null, chunk_count: 3 });
  const chunks = await plane.call<{ items: { heading: string; position: number }[]; total: number }>(
    'GET',
    `/v1/knowledge-files/${id}/chunks`,
  );
  t.match(chunks.body, {
    total: 3,
    items: [
      { heading: 'The shop', position: 0 },
      { heading: 'The shop > Opening hours', position: 1 },
      { heading: 'The shop > Returns', position: 2 },
    ],
  });
  // Other forms of the words of the document.
  const found = await search(base, 'Can I return something and get refunded?');
  t.match(found.items[0], {
    file_id: id,
    file_name: 'shop.md',
    heading: 'The shop > Returns',
    text: /30 days/,
  });
  t.ok(found.items[0]!.score > 0.3 && found.items[0]!.score <= 1);
  t.match((await search(base, 'opened on saturday', { top_k: 1 })).items[0], { heading: /Opening hours/ });
  t.same(await search(base, 'elephants'), { items: [], total: 0 });
  t.same(await search(base, 'refunds', { min_score: 1 }), { items: [], total: 0 });
  t.match((await plane.call('GET', `/v1/knowledge-bases/${base}`)).body, {
    status: 'ready',
    file_count: 1,
    chunk_count: 3,
  });
  t.equal((await plane.call('DELETE', `/v1/knowledge-files/${id}`)).status, 204);
  t.same(await search(base, 'refunds'), { items: [], total: 0 });
  t.match((await plane.call('GET', `/v1/knowledge-bases/${base}`)).body, { status: 'empty', file_count: 0 });
  const trail = await plane.app.services.database
    .model(auditCollection)
    .find({ target: { $in: [id, base] } })
    .sort({ created_at: 1, _id: 1 })
    .lean();
  t.same(
    trail.map(({ action, target }) => [action, target]),
    [
      ['knowledge_file.added', id],
      ['knowledge_file.deleted', id],
    ],
  );
});

void t.test('uploads are taken by their kind, once', async (t) => {
  const base = await makeBase();
  const first = await upload(base, 'shop.md', HOURS);
  t.match(first, { status: 202, body: { type: 'file', name: 'shop.md', mime_type: 'text/markdown' } });
  t.match(await upload(base, 'again.txt', HOURS), { status: 409, body: { code: 'duplicate' } });
  t.match(await upload(base, 'shop.exe', 'MZ'), { status: 415 });
  t.match(await upload(base, 'binary.txt', new Uint8Array([65, 0, 66])), { status: 202 });
  const empty = new FormData();
  empty.set('other', 'x');
  t.match(await plane.call('POST', `/v1/knowledge-bases/${base}/files`, { body: empty }), {
    status: 422,
    body: { detail: [{ loc: ['body', 'other'] }] },
  });
  t.equal((await settled(first.body.id)).status, 'ready');
  const list = await plane.call<{ items: File[] }>('GET', `/v1/knowledge-bases/${base}/files?sort=name`);
  const binary = list.body.items.find(({ name }) => name === 'binary.txt')!;
  t.match(await settled(binary.id), { status: 'failed', error: /not a text file/ });
  t.equal((await plane.call('POST', `/v1/knowledge-files/${first.body.id}/reprocess`)).status, 202);
  t.ok((await search(base, 'refunds')).total > 0, 'what was found is found until it is read anew');
  t.equal((await settled(first.body.id)).status, 'ready');
  t.equal((await search(base, 'refunds')).total, 1);
});

void t.test('an address is read, and read anew when it is due', async (t) => {
  const base = await makeBase();
  const refused = await plane.call('POST', `/v1/knowledge-bases/${base}/files`, {
    body: { url: 'http://127.0.0.1:1/' },
  });
  t.match(refused, { status: 422, body: { detail: [{ loc: ['body', 'url'], type: 'url_not_allowed' }] } });
  const moved = await settled(await add(base, { url: `${site.url}/moved` }));
  t.match(moved, { status: 'failed', error: `Use the address that it leads to: ${site.url}/help` });
  const url = `${site.url}/help`;
  const id = await add(base, { url, refresh_hours: 24 });
  t.match(await settled(id), { status: 'ready', name: url, mime_type: 'text/html', chunk_count: 1 });
  t.match((await search(base, 'hotline')).items, [{ heading: 'Help', text: 'Call the hotline.' }]);
  // As if a day had passed, or a process had died over it; what is new wakes the work.
  const due = async (wakes: string) => {
    const files = plane.app.services.database.model(knowledgeFileCollection);
    await files.updateOne({ _id: id }, { $set: { run_at: new Date(0), status: 'processing' } });
    await settled(await add(base, { name: wakes, text: wakes }));
  };
  page = '<main><h1>Help</h1><p>Write a letter.</p></main>';
  await due('one');
  await eventually(async () => (await search(base, 'letter')).total === 1);
  t.same((await search(base, 'hotline')).items, []);
  page = '';
  await due('two');
  t.match(await settled(id), { status: 'failed', error: /status 404/, chunk_count: 1 });
  t.equal((await search(base, 'letter')).total, 1, 'what was found is found still');
});

void t.test('what is meant is found by a model of the org, whatever the words', async (t) => {
  const base = await makeBase({ embedding: 'openai_compatible:letters' });
  await settled(await add(base, { name: 'wash', text: 'Autos are washed on Mondays.' }));
  await settled(await add(base, { name: 'bread', text: 'Bread is baked daily.' }));
  for (const mode of ['vector', 'hybrid'])
    t.match(
      (await search(base, 'Where can I clean my car?', { mode, top_k: 1 })).items,
      [{ file_name: 'wash' }],
      mode,
    );
  t.same((await search(base, 'Where can I clean my car?', { mode: 'keyword' })).items, []);
  const words = await makeBase();
  const refused = await plane.call('POST', `/v1/knowledge-bases/${words}/search`, {
    body: { query: 'car', mode: 'vector' },
  });
  t.match(refused, { status: 422, body: { detail: [{ loc: ['body', 'mode'], type: 'not_available' }] } });
  t.equal(
    (await plane.call('POST', `${P}/knowledge-bases`, { body: { name: 'x', embedding: 'best' } })).status,
    422,
  );
});

void t.test('gateways look things up for their calls, in bases of the same project alone', async (t) => {
  const gateway = new TestGateway(plane);
  const base = await makeBase();
  await settled(await add(base, { name: 'shop.md', text: HOURS }));
  const agent = await plane.call<Id>('POST', `${P}/agents`, { body: { name: 'Desk' } });
  const attach = { body: { knowledge_base_id: base } };
  t.equal((await plane.call('POST', `/v1/agents/${agent.body.id}/knowledge-bases`, attach)).status, 200);
  const minted = await plane.call<{ token: string }>('POST', '/v1/realtime/sessions', {
    body: { agent_id: agent.body.id },
  });
  const { body: plan } = await gateway.redeem({ token: minted.body.token });
  t.match(plan, { knowledge: { base_ids: [base] }, agent: { config: { knowledge: { mode: 'auto' } } } });
  const ask = (base_ids: string[], session = plan.session_id) =>
    gateway.internal<{ passages: { text: string }[] }>(
      'POST',
      `/internal/v1/sessions/${session}/knowledge-search`,
      { query: 'Do you take things back?', base_ids, top_k: 4, min_score: 0 },
    );
  const query = await gateway.internal<{ passages: { text: string }[] }>(
    'POST',
    `/internal/v1/sessions/${plan.session_id}/knowledge-search`,
    { query: 'refund', base_ids: [base], top_k: 1, min_score: 0.3 },
  );
  t.match(query.body.passages, [{ file_name: 'shop.md', text: /30 days/ }]);
  t.equal((await ask([base], '01890000-0000-7000-8000-000000000009')).status, 404);
  const other = await plane.makeTenant();
  const theirs = await plane.call<Id>(
    'POST',
    `/v1/orgs/${other.org._id}/projects/${other.project._id}/knowledge-bases`,
    { body: { name: 'Theirs' }, token: other.apiKey },
  );
  t.same((await ask([theirs.body.id])).body, { passages: [] });
});
