import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openDocumentStore } from '@parley/document-store/document-store';
import { auditCollection } from '../src/audit/audit-trail.ts';
import { SAMPLE_ORIGIN } from '../src/composition/sample.ts';
import type { SampleRequest, Scenario, Send } from '../src/composition/sample.ts';
import { orgCollection } from '../src/orgs/org-model.ts';
import { projectCollection } from '../src/projects/project-model.ts';
import { parameterNames } from '../src/http/operation.ts';
import type { Operation } from '../src/http/operation.ts';
import { contentTypesOf } from '../src/http/read-body.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openContractWorld } from './fixtures/contract-world.ts';
import { features, operations as all } from './fixtures/described-features.ts';
import { openFailingStore } from './fixtures/failing-store.ts';
import { StatusRecorder } from './fixtures/status-recorder.ts';
import type { ContractDocument } from './fixtures/status-recorder.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import { signInUser } from './fixtures/test-users.ts';

/**
 * Each status that the description declares for an operation is brought about: by general means where there are some,
 * by the scenario that its feature has for it (`<feature>-sample.ts`) where not. Every answer is checked on the way.
 */
t.setTimeout(600_000);
const SCENARIOS = Object.assign({}, ...features.samples.map(({ scenarios }) => scenarios)) as Record<
  string,
  Scenario
>;
/** Well-formed, for public operations that look something up. */
const PUBLIC_BODIES = Object.assign(
  {},
  ...features.samples.map(({ publicBodies }) => publicBodies),
) as Record<string, object>;
/** `npm run test:long` tries all operations, `npm test` one in so many. */
const STRIDE = LONG ? 1 : 20;
const FIRST = Number(process.env['STATUSES_FIRST'] ?? randomInt(STRIDE));
const described = all.filter((operation) => operation.described !== false);
const operations = described.filter((_, at) => at % STRIDE === FIRST);
t.comment(`1 in ${STRIDE} operations: STATUSES_FIRST=${FIRST}`);
const credentialed = operations.filter((operation) => typeof operation.access === 'object');

const databases = await mkdtemp(join(tmpdir(), 'parley-contract-'));
t.teardown(() => rm(databases, { recursive: true, force: true }));
const database = await openDocumentStore({ path: join(databases, 'store.db') });
t.teardown(() => database[Symbol.asyncDispose]());
const store = await openFailingStore(database.uri);
t.teardown(() => store[Symbol.asyncDispose]());
const world = await openContractWorld({ MONGODB_URI: store.uri });
t.teardown(() => world[Symbol.asyncDispose]());
const { cp, owner, project } = world;
const document = (await cp.call<ContractDocument>('GET', '/openapi.json', { token: null })).body;
const recorder = new StatusRecorder(document);

const takesKey = ({ access }: Operation) => typeof access === 'object' && access.key !== undefined;
const takesUser = ({ access }: Operation) => typeof access === 'object' && access.user !== undefined;
const declares = (operation: Operation, status: number) => recorder.declared(operation).includes(status);
const jsonHeaders = { 'content-type': 'application/json' };
const firstBody = (operation: Operation) =>
  [operation.body ?? []].flat().find(({ kind }) => kind !== 'stream');

function tokenFor(operation: Operation): string | null {
  if (typeof operation.access !== 'object') return null;
  return takesKey(operation) ? project.key : owner.token;
}

/** What requests of an operation always carry. A visitor of a page comes from elsewhere each time. */
const HEADERS: Record<string, () => Record<string, string>> = {
  startWidgetSession: () => ({ origin: SAMPLE_ORIGIN, 'x-forwarded-for': `192.0.2.${++visitors % 256}` }),
};
let visitors = 0;

/** With the world's ids, and its admin unless told otherwise. */
const send = (operation: Operation, more: SampleRequest = {}, url = cp.url) =>
  recorder.send(url, operation, {
    ...more,
    headers: { ...HEADERS[operation.id]?.(), ...more.headers },
    token: more.token === undefined ? tokenFor(operation) : more.token,
    ids: { ...project.ids, ...more.ids },
  });

/** The end of a key that nobody has used yet. */
const randomKey = () => randomBytes(20).toString('hex');

/** Runs at most 16 at a time. */
async function inLanes<T>(all: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  const waiting = [...all];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

void t.test('what an operation is for succeeds, and its own refusals happen', async (t) => {
  const known = new Set(described.map(({ id }) => id));
  for (const id of Object.keys(SCENARIOS)) if (!known.has(id)) t.fail(`${id}: a scenario of no operation`);
  for (const operation of operations) {
    const expect: Send = async (status, request = {}) => {
      const answer = await send(operation, request);
      if (![status].flat().includes(answer.status)) {
        t.fail(
          `${operation.id}: ${answer.status}, not ${[status].flat().join(' or ')}: ${JSON.stringify(answer.body)}`,
        );
      }
      return answer as never;
    };
    const lowest = Math.min(...Object.keys(operation.responses).map(Number));
    const scenario = SCENARIOS[operation.id] ?? ((_, send) => send(lowest));
    try {
      await scenario(world, expect);
    } catch (error) {
      t.fail(`${operation.id}: its scenario broke: ${String(error)}`);
    }
  }
  t.comment(`${Object.keys(SCENARIOS).length} scenarios, ${operations.length} operations`);
});

void t.test('refusals that have one cause everywhere', async (t) => {
  const viewer = await world.make<{ key: string }>(`/v1/projects/${project.ids['project_id']}/api-keys`, {
    name: 'viewer',
    role: 'viewer',
  });
  await inLanes(operations, async (operation) => {
    const names = parameterNames(operation.path);
    const spec = firstBody(operation);
    const types = spec ? contentTypesOf(spec) : [];
    if (declares(operation, 401)) await send(operation, { token: null });
    if (declares(operation, 404) && credentialed.includes(operation)) {
      await send(operation, { ids: Object.fromEntries(names.map((name) => [name, undefined as never])) });
    }
    if (declares(operation, 403) && credentialed.includes(operation)) {
      if (!takesKey(operation)) await send(operation, { token: project.key });
      else if (takesKey(operation)) await send(operation, { token: viewer.key, body: spec && {} });
    }
    if (declares(operation, 422) && operation.access !== 'carrier') {
      if (spec?.kind === 'json') await send(operation, { body: '{', headers: jsonHeaders });
      else if (spec?.kind === 'form') await send(operation, { body: new URLSearchParams({ x: '1' }) });
      else if (spec?.kind === 'multipart') await send(operation, { body: new FormData() });
      else await send(operation, { query: 'unheard_of=1' });
    }
    if (declares(operation, 400) && spec?.kind === 'multipart') {
      await send(operation, {
        body: 'no parts',
        headers: { 'content-type': 'multipart/form-data; boundary=x' },
      });
    }
    if (declares(operation, 415)) {
      await send(operation, { body: 'x', headers: { 'content-type': 'application/x-odd' } });
    }
    if (declares(operation, 413) && spec && 'limitBytes' in spec) {
      await announce(operation, spec.limitBytes + 1, types[0] ?? 'application/octet-stream');
    }
    if (declares(operation, 409) && operation.idempotent && spec) {
      const headers = { ...jsonHeaders, 'idempotency-key': operation.id };
      // The first answer is a 422, which is kept as well.
      await send(operation, { body: '{"x":1}', headers });
      await send(operation, { body: '{"x":2}', headers });
    }
  });
  t.pass('they are counted at the end');
});

/** Announces a body of that size and sends none of it. */
function announce(operation: Operation, bytes: number, type: string): Promise<void> {
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => project.ids[name]!);
  const token = tokenFor(operation);
  return new Promise((resolve, reject) => {
    const headers = {
      ...HEADERS[operation.id]?.(),
      ...(token !== null && { authorization: `Bearer ${token}` }),
      'content-type': type,
      'content-length': String(bytes),
    };
    const sent = request(`${cp.url}${path}`, { method: operation.method, headers }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const body: unknown = JSON.parse(Buffer.concat(chunks).toString());
        recorder.note(operation, answer.statusCode!, answer.headers['content-type'] ?? '', body);
        sent.destroy();
        resolve();
      });
    });
    sent.on('error', reject);
    sent.flushHeaders();
  });
}

void t.test('writing in a suspended org, in an archived project, or where a feature is off', async (t) => {
  const { database: db, directory } = cp.app.services;
  const { org_id: orgId } = project.ids;
  const setOrg = async (set: object) => {
    await db.model(orgCollection).updateOne({ _id: orgId! }, { $set: set });
    directory.forget(orgId!);
  };
  await setOrg({ status: 'suspended' });
  await inLanes(
    credentialed.filter((operation) => declares(operation, 403) && !recorder.seen(operation, 403)),
    (operation) => send(operation, { body: firstBody(operation) && {} }),
  );
  const features = operations.flatMap(({ feature }) => (feature === undefined ? [] : [feature]));
  await setOrg({
    status: 'active',
    feature_flags: Object.fromEntries(features.map((name) => [name, false])),
  });
  await inLanes(
    operations.filter(({ feature }) => feature !== undefined),
    (operation) => send(operation),
  );
  await setOrg({ feature_flags: {} });

  const archived = await world.makeProject();
  const projectId = archived.ids['project_id']!;
  await db.model(projectCollection).updateOne({ _id: projectId }, { $set: { archived_at: new Date() } });
  directory.forget(projectId);
  await inLanes(
    credentialed.filter(
      (operation) => operation.method !== 'GET' && operation.target?.inProject && takesUser(operation),
    ),
    (operation) => send(operation, { ids: archived.ids, token: owner.token }),
  );
  t.pass('they are counted at the end');
});

void t.test('too many requests', async (t) => {
  // Time stands still: with a new minute, one more request would be allowed.
  const clock = new ManualClock(Date.now());
  const strict = await openTestControlPlane({
    clock,
    env: {
      API_REQUESTS_PER_MINUTE: '1',
      ADDRESS_REQUESTS_PER_MINUTE: '100000',
      REGISTRATION: 'open',
    },
  });
  t.teardown(() => strict[Symbol.asyncDispose]());
  const user = await signInUser(strict, 'owner@example.com');
  const token = (operation: Operation) => (takesKey(operation) ? strict.first.apiKey : user.token);
  await strict.call('GET', '/v1/me');
  await strict.call('GET', '/v1/me', { token: user.token });
  await inLanes(credentialed, (operation) => send(operation, { token: token(operation) }, strict.url));

  const perAddress = await openTestControlPlane({ clock, env: { ADDRESS_REQUESTS_PER_MINUTE: '1' } });
  t.teardown(() => perAddress[Symbol.asyncDispose]());
  await perAddress.call('GET', '/openapi.json', { token: null });
  const open = operations.filter(
    (operation) => ['public', 'webhook'].includes(String(operation.access)) && declares(operation, 429),
  );
  await inLanes(open, (operation) => send(operation, {}, perAddress.url));

  // Only the first user of an installation may register here.
  const closed = await openTestControlPlane();
  t.teardown(() => closed[Symbol.asyncDispose]());
  await signInUser(closed, 'first@example.com');
  const register = described.find(({ id }) => id === 'register')!;
  const body = { email: 'second@example.com', password: 'correct horse battery', name: 'Second' };
  t.equal((await send(register, { body }, closed.url)).status, 403);
});

void t.test('a database that fails, and one that is gone', async (t) => {
  const request = (operation: Operation): SampleRequest => {
    if (operation.access !== 'public') return {};
    if (operation.path.startsWith('/media/')) {
      const path = operation.path.replace(/\{([^}]+)\}/g, (_, name: string) => project.ids[name]!);
      return { query: world.mediaQuery(path) };
    }
    const scenario = PUBLIC_BODIES[operation.id];
    return scenario ? { body: scenario } : {};
  };
  for (const [mode, status] of [
    ['failing', 500],
    ['down', 503],
  ] as const) {
    // Credentials are remembered for some seconds: what fails is what they ask for.
    await cp.call('GET', '/v1/me', { token: project.key });
    const unseen = await signInUser(cp, `${mode}@example.com`);
    store.mode = mode;
    const faulty = operations.filter((operation) => declares(operation, status));
    await inLanes(faulty, async (operation) => {
      await send(operation, request(operation));
      // It asks for nothing else, or refuses before: so its caller is one that has to be looked up.
      if (!recorder.seen(operation, status) && operation.access !== 'public') {
        await send(operation, { token: takesKey(operation) ? `sk-svc-${randomKey()}` : unseen.token });
      }
    });
    store.mode = 'well';
    const missed = faulty.filter((operation) => !recorder.seen(operation, status)).map(({ id }) => id);
    t.comment(`${mode}: ${faulty.length - missed.length} of ${faulty.length} operations answer ${status}`);
  }
  // It comes back by itself.
  t.equal((await cp.call('GET', `/v1/orgs/${project.ids['org_id']}`, { token: project.key })).status, 200);
});

void t.test(
  'features have named what they wrote to the audit trail, and what switches their routes',
  async (t) => {
    const written = await cp.app.services.database.model(auditCollection).distinct('action');
    t.ok(written.length > 20 / STRIDE);
    t.same(
      written.filter((action) => !features.audit.has(action)),
      [],
    );
    const flags = new Set(features.flags.map(({ key }) => key));
    t.same(
      operations.filter(({ feature }) => feature !== undefined && !flags.has(feature)),
      [],
    );
  },
);

void t.test('every declared status has been seen, and nothing else', (t) => {
  for (const problem of recorder.problems) t.fail(problem);
  let pairs = 0;
  let seen = 0;
  for (const operation of operations) {
    for (const status of recorder.declared(operation)) {
      pairs++;
      if (recorder.seen(operation, status)) seen++;
      else {
        t.fail(
          `${operation.id} declares ${status}, and it never came. Bring it about in the scenario ${operation.id} ` +
            `of its feature's sample by "await send(${status}, { body, ids, … })", ` +
            'or, if it cannot happen, take it out of the responses or errors of the operation. Where several are missing ' +
            'at once, its record may be gone: a scenario that deletes or archives makes what it takes away.',
        );
      }
    }
  }
  t.comment(
    `${operations.length} operations, ${seen} of ${pairs} declared statuses, ${recorder.answers} answers`,
  );
  t.ok(pairs > 2000 / STRIDE);
  t.end();
});
