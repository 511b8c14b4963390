import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { openCalComEmulator } from '@parley/emulators/apps/cal-com-emulator';
import { openGoogleEmulator } from '@parley/emulators/apps/google-emulator';
import { openHubSpotEmulator } from '@parley/emulators/apps/hubspot-emulator';
import { openSlackEmulator } from '@parley/emulators/apps/slack-emulator';
import { createLogger } from '@parley/shared/logging/logger';
import { APP_NAMES } from '../src/app-connections/app-catalog.ts';
import {
  appAuthorizationCollection,
  appConnectionCollection,
  appRevocationCollection,
} from '../src/app-connections/app-connection-model.ts';
import { toAppResponse } from '../src/app-connections/app-connection-schema.ts';
import { InstalledApps } from '../src/app-connections/app-settings.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { eventually } from './fixtures/loopback-server.ts';
import { openTestControlPlane } from './fixtures/test-control-plane.ts';
import type { TestControlPlane } from './fixtures/test-control-plane.ts';
import { TestGateway } from './fixtures/test-gateway.ts';
import { signInUser } from './fixtures/test-users.ts';

const CLIENT = { clientId: 'client-of-the-tests', clientSecret: 'client-secret-of-the-tests' };
const CALLBACK = '/auth/v1/apps/callback';
const REDIRECT = { redirectUri: `http://127.0.0.1:8080${CALLBACK}` };
const KEY = 'cal_live_of_the_tests';

const lines: string[] = [];
const destination = new Writable({ write: (chunk: Buffer, _, done) => (lines.push(String(chunk)), done()) });
const logger = createLogger({ name: 'test', level: 'trace', destination });
/** What must be in no log and no answer. */
const secrets: string[] = [CLIENT.clientSecret, KEY, 'ya29.', 'xoxb-'];

const calCom = await openCalComEmulator({ keys: [KEY] });
t.teardown(() => calCom[Symbol.asyncDispose]());
const google = await openGoogleEmulator({ ...CLIENT, ...REDIRECT });
t.teardown(() => google[Symbol.asyncDispose]());
const hubSpot = await openHubSpotEmulator({ ...CLIENT, ...REDIRECT });
t.teardown(() => hubSpot[Symbol.asyncDispose]());
const slack = await openSlackEmulator({ ...CLIENT, ...REDIRECT });
t.teardown(() => slack[Symbol.asyncDispose]());
const store = await openDocumentStore({ path: join(t.testdir(), 'store.db') });
t.teardown(() => store[Symbol.asyncDispose]());

const signing = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
const env = {
  MONGODB_URI: store.uri,
  ENCRYPTION_KEYS: `test:${randomBytes(32).toString('base64')}`,
  JWT_PRIVATE_KEYS: JSON.stringify([{ ...signing, kid: 'test' }]),
  REGISTRATION: 'open',
  APP_CAL_COM_BASE_URL: calCom.url,
  APP_GOOGLE_BASE_URL: google.url,
  APP_GOOGLE_CLIENT_ID: CLIENT.clientId,
  APP_GOOGLE_CLIENT_SECRET: CLIENT.clientSecret,
  APP_HUBSPOT_BASE_URL: hubSpot.url,
  APP_HUBSPOT_CLIENT_ID: CLIENT.clientId,
  APP_HUBSPOT_CLIENT_SECRET: CLIENT.clientSecret,
  APP_SLACK_BASE_URL: slack.url,
  APP_SLACK_CLIENT_ID: CLIENT.clientId,
  APP_SLACK_CLIENT_SECRET: CLIENT.clientSecret,
};
const cp = await openTestControlPlane({ env, logger });
t.teardown(() => cp[Symbol.asyncDispose]());
/** Another process of the same installation. */
const second = await openTestControlPlane({ env, logger });
t.teardown(() => second[Symbol.asyncDispose]());
const admin = await signInUser(cp, 'admin@example.com');
const gateway = new TestGateway(cp);
const orgId = cp.first.org._id;
const O = `/v1/orgs/${orgId}`;
const { database } = cp.app.services;

interface Connection {
  id: string;
  status: string;
  account_label: string | null;
  scopes: string[];
  expires_at: string | null;
  last_error: string | null;
  authorize_url: string | null;
}
interface Outcome {
  ok: boolean;
  content: string;
  code?: string;
  assigned: Record<string, string>;
}
interface Trial {
  ok: boolean;
  status: number | null;
  result: string | null;
  error: { code: string; message: string } | null;
}

/** As an admin of the org. */
const asAdmin = <T = Connection>(method: string, path: string, body?: unknown, plane = cp) =>
  plane.call<T>(method, path, { token: admin.token, ...(body !== undefined && { body }) });
const read = async (id: string) => (await cp.call<Connection>('GET', `/v1/app-connections/${id}`)).body;

async function started(app: string, more: object = {}): Promise<Connection> {
  const { status, body } = await asAdmin('POST', `${O}/app-connections`, { app, name: app, ...more });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body;
}

/** What the vendor's redirect brings. */
async function agreed(url: string): Promise<URLSearchParams> {
  const { headers } = await fetch(url, { redirect: 'manual' });
  const { searchParams } = new URL(headers.get('location')!);
  secrets.push(searchParams.get('state')!, searchParams.get('code') ?? 'no code');
  return searchParams;
}
const returned = (query: URLSearchParams | string, plane: TestControlPlane = cp) =>
  plane.call<string>('GET', `${CALLBACK}?${String(query)}`, { token: null });

async function connected(app: string): Promise<Connection> {
  const begun = await started(app);
  const { status, body } = await returned(await agreed(begun.authorize_url!));
  if (status !== 200) throw new Error(body);
  return read(begun.id);
}

async function tool(connectionId: string, action: string, more: object = {}): Promise<string> {
  const { fixed_arguments = {}, ...rest } = more as { fixed_arguments?: object };
  const { status, body } = await cp.call<{ id: string }>('POST', `${O}/tools`, {
    body: {
      name: `a_${randomUUID().replaceAll('-', '_')}`,
      description: 'Does it.',
      type: 'app',
      app: { connection_id: connectionId, action, fixed_arguments },
      ...rest,
    },
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}

const tried = async (id: string, args: object, plane: TestControlPlane = cp) =>
  (
    await plane.call<Trial>('POST', `/v1/tools/${id}/test`, {
      body: { arguments: args },
      token: cp.first.apiKey,
    })
  ).body;
/** The access token ends now. */
const due = (id: string) =>
  database.model(appConnectionCollection).updateOne({ _id: id }, { $set: { expires_at: new Date() } });

const EVENT = { title: 'Talk', start: '2030-01-31T09:30:00+01:00', end: '2030-01-31T10:00:00+01:00' };

void t.test('the catalogue says what can be connected, and what its apps do', async (t) => {
  const { body } = await cp.call<{ total: number; items: { app: string; actions: object[] }[] }>(
    'GET',
    '/v1/app-catalog',
  );
  t.equal(body.total, 5);
  t.match(
    body.items.find(({ app }) => app === 'cal_com'),
    { auth_type: 'api_key', available: true },
  );
  const bare = new InstalledApps({});
  t.same(
    APP_NAMES.filter((app) => !toAppResponse(bare.get(app)).available),
    ['google_calendar', 'google_sheets', 'hubspot', 'slack'],
    'OAuth needs a client of the installation',
  );
  const owner = await signInUser(cp, 'nobody@example.com');
  t.equal((await cp.call('GET', '/v1/app-catalog', { token: owner.token })).status, 200);
});

void t.test('a key is tried, kept to itself and replaced', async (t) => {
  const refused = await asAdmin('POST', `${O}/app-connections`, {
    app: 'cal_com',
    name: 'Calendar',
    credentials: { api_key: 'cal_live_wrong' },
  });
  const loc = ['body', 'credentials', 'api_key'];
  t.match(refused, { status: 422, body: { detail: [{ loc, type: 'credential_refused' }] } });
  t.match(await asAdmin('POST', `${O}/app-connections`, { app: 'cal_com', name: 'x' }), { status: 422 });
  const both = { app: 'hubspot', name: 'x', credentials: { api_key: KEY } };
  t.match(await asAdmin('POST', `${O}/app-connections`, both), { status: 422 });

  const made = await started('cal_com', { credentials: { api_key: KEY } });
  t.match(made, {
    status: 'connected',
    account_label: 'asha@example.com',
    authorize_url: null,
    expires_at: null,
  });
  const stored = await database.model(appConnectionCollection).findById(made.id).lean();
  t.notOk(JSON.stringify(stored).includes(KEY), 'it is encrypted');
  const byKey = { body: { app: 'cal_com', name: 'x', credentials: { api_key: KEY } } };
  t.match(await cp.call('POST', `${O}/app-connections`, byKey), {
    status: 403,
    body: { code: 'user_required' },
  });
  t.equal((await asAdmin('PATCH', `/v1/app-connections/${made.id}`, { name: 'Front desk' })).status, 200);
  t.equal((await asAdmin('PATCH', `/v1/app-connections/${made.id}`, { credentials: {} })).status, 422);

  const id = await tool(made.id, 'find_slots', { fixed_arguments: { event_type_id: 7 } });
  const days = { start: '2030-01-31', end: '2030-02-01' };
  t.match(await tried(id, days), { ok: true, status: 200, result: /2030-01-31T09:00/ });
  calCom.keys.clear();
  t.match(await tried(id, days), { ok: false, error: { code: 'not_connected' } });
  t.match(await read(made.id), { status: 'error', last_error: /refuses the API key/ });
  const seen = calCom.versions.length;
  t.match(await tried(id, days), { ok: false, error: { code: 'not_connected' } });
  t.equal(calCom.versions.length, seen, 'the app is not asked again');
  calCom.keys.add('cal_live_another').add(KEY);
  const reconnect = (body: object) => asAdmin('POST', `/v1/app-connections/${made.id}/reconnect`, body);
  t.equal((await reconnect({})).status, 422);
  t.equal((await reconnect({ credentials: { api_key: 'wrong' } })).status, 422);
  t.match(await reconnect({ credentials: { api_key: 'cal_live_another' } }), {
    status: 200,
    body: { status: 'connected', last_error: null, authorize_url: null },
  });
  t.match(await tried(id, days), { ok: true });
  const inUse = await asAdmin<{ refs: object[] }>('DELETE', `/v1/app-connections/${made.id}`);
  t.match(inUse, { status: 409, body: { code: 'resource_in_use', refs: [{ type: 'tool', id }] } });
  t.equal((await cp.call('DELETE', `/v1/tools/${id}`)).status, 204);
  t.equal((await asAdmin('DELETE', `/v1/app-connections/${made.id}`)).status, 204);
  t.equal((await cp.call('GET', `/v1/app-connections/${made.id}`)).status, 404);
});

void t.test('an agent books through an app in a call', async (t) => {
  const { id: connectionId } = await started('cal_com', { credentials: { api_key: KEY } });
  const id = await tool(connectionId, 'create_booking', {
    fixed_arguments: { event_type_id: 7, attendee_time_zone: 'Europe/Berlin' },
    execution: { confirm: true, mode: 'async' },
    response: { assign: [{ path: 'data.uid', name: 'booking' }] },
  });
  const made = await cp.call<{ parameters: { required: string[] } }>('GET', `/v1/tools/${id}`);
  t.same(made.body.parameters.required, ['start', 'attendee_name', 'attendee_email']);
  const P = `${O}/projects/${cp.first.project._id}`;
  const agent = await cp.call<{ id: string }>('POST', `${P}/agents`, { body: { name: randomUUID() } });
  await cp.call('POST', `/v1/agents/${agent.body.id}/tools`, { body: { tool_id: id } });
  const session = await cp.call<{ token: string }>('POST', '/v1/sessions', {
    body: { agent_id: agent.body.id },
  });
  const plan = (await gateway.redeem({ token: session.body.token })).body;
  t.match(plan.tools, [
    { tool_id: id, type: 'app', function: 'create_booking', execution: { confirm: true, mode: 'async' } },
  ]);
  t.notOk(JSON.stringify(plan).includes(KEY), 'the gateway needs no key of the app');
  const run = async (tool_call_id: string, args: object) =>
    (
      await gateway.internal<Outcome>('POST', `/internal/v1/sessions/${plan.session_id}/tool-calls`, {
        ...{ tool_call_id, tool_id: id, function: 'create_booking', arguments: args },
      })
    ).body;
  const wanted = { start: '2030-01-31T09:30:00Z', attendee_name: 'Asha', attendee_email: 'asha@example.com' };
  const booked = await run('call_1', { ...wanted, event_type_id: 9 });
  t.match(booked, { ok: true, assigned: { booking: calCom.bookings[0]?.['uid'] } });
  t.match(calCom.bookings, [
    {
      eventTypeId: 7,
      start: wanted.start,
      attendee: { name: 'Asha', email: 'asha@example.com', timeZone: 'Europe/Berlin' },
    },
  ]);
  t.equal(calCom.versions.at(-1), '2024-08-13');
  t.same(await run('call_1', { ...wanted, event_type_id: 9 }), booked, 'asked again, it is not done again');
  t.equal(calCom.bookings.length, 1);
  t.match(await run('call_2', { start: 7 }), {
    ok: false,
    code: 'invalid_arguments',
    content: /attendee_name is missing/,
  });
  t.match(await run('call_3', { ...wanted, color: 'red' }), { ok: false, code: 'invalid_arguments' });
  t.equal(calCom.bookings.length, 1);
});

void t.test(
  'a tool names a connection that its project may use, an action and arguments of it',
  async (t) => {
    const { id: connection_id } = await started('cal_com', { credentials: { api_key: KEY } });
    const other = await asAdmin<{ id: string }>('POST', `${O}/projects`, { name: 'Other' });
    const elsewhere = await started('cal_com', { credentials: { api_key: KEY }, project_id: other.body.id });
    const make = (app: object, more: object = {}) =>
      cp.call<{ id: string; detail: { loc: string[] }[] }>('POST', `${O}/tools`, {
        body: { name: 'booker', description: 'Books.', type: 'app', app, ...more },
      });
    const refusedAt = async (app: object, loc: string[]) => {
      const { status, body } = await make(app);
      t.equal(status, 422);
      t.same(body.detail[0]?.loc, ['body', 'app', ...loc]);
    };
    await refusedAt({ connection_id: elsewhere.id, action: 'find_slots' }, ['connection_id']);
    await refusedAt({ connection_id, action: 'fly' }, ['action']);
    const fixed = (fixed_arguments: object) => ({ connection_id, action: 'find_slots', fixed_arguments });
    await refusedAt(fixed({ colour: 1 }), ['fixed_arguments', 'colour']);
    await refusedAt(fixed({ event_type_id: 'seven' }), ['fixed_arguments', 'event_type_id']);
    const { body } = await make(fixed({ event_type_id: 7, time_zone: 'UTC' }), { execution: { retries: 2 } });
    const patch = (app: object) =>
      cp.call<{ app: object; parameters: { properties: object } }>('PATCH', `/v1/tools/${body.id}`, {
        body: { app },
      });
    const changed = await patch({ fixed_arguments: { time_zone: null } });
    t.same(changed.body.app, { connection_id, action: 'find_slots', fixed_arguments: { event_type_id: 7 } });
    t.same(Object.keys(changed.body.parameters.properties), ['start', 'end', 'time_zone']);
    t.equal((await patch({ action: 'cancel_booking' })).status, 422, 'which has no such argument');
    t.equal((await cp.call('POST', `/v1/tools/${body.id}/discover`)).status, 409);
    const named = { body: { function: 'cancel_booking', arguments: {} } };
    t.equal((await cp.call('POST', `/v1/tools/${body.id}/test`, named)).status, 422);
  },
);

void t.test('a person agrees at the vendor, and the connection lives until it is deleted', async (t) => {
  const begun = await started('google_calendar');
  t.match(begun, { status: 'pending', scopes: [], account_label: null });
  const asked = new URL(begun.authorize_url!).searchParams;
  t.match(Object.fromEntries(asked), {
    response_type: 'code',
    code_challenge_method: 'S256',
    access_type: 'offline',
    redirect_uri: REDIRECT.redirectUri,
  });
  const early = await tool(begun.id, 'list_events');
  t.match(await tried(early, { from: EVENT.start, to: EVENT.end }), { error: { code: 'not_connected' } });

  const query = await agreed(begun.authorize_url!);
  t.equal(query.get('iss'), 'https://accounts.google.com');
  const page = await returned(query, second);
  t.equal(page.status, 200, 'another process may be asked');
  t.match(page.headers.get('content-type'), 'text/html');
  t.match(page.body, 'Google Calendar is connected');
  t.match(await read(begun.id), {
    status: 'connected',
    account_label: 'asha@example.com',
    scopes: asked.get('scope')!.split(' '),
    expires_at: String,
    last_error: null,
  });
  t.equal((await returned(query)).status, 400, 'a state is good once');
  t.match(await read(begun.id), { status: 'connected' }, 'and a second use changes nothing');
  const again = await asAdmin('POST', `/v1/app-connections/${begun.id}/reconnect`, {});
  t.match(again, { status: 409, body: { code: 'invalid_state' } });

  const create = await tool(begun.id, 'create_event');
  t.match(await tried(create, { ...EVENT, attendee_email: 'bo@example.com' }), { ok: true, status: 200 });
  t.match(google.events, [
    { summary: 'Talk', start: { dateTime: EVENT.start }, attendees: [{ email: 'bo@example.com' }] },
  ]);
  t.equal(google.oauth.renewals, 0);
  await due(begun.id);
  t.match(await tried(create, EVENT), { ok: true }, 'what is about to end is renewed before it is used');
  t.equal(google.oauth.renewals, 1);
  google.oauth.forgetAccess();
  t.match(await tried(create, EVENT), { ok: true }, 'what is refused before its time is, too');
  t.equal(google.oauth.renewals, 2);
  t.equal(google.events.length, 3);
  const remove = await tool(begun.id, 'delete_event');
  t.match(await tried(remove, { event_id: google.events[0]!['id'] }), { ok: true, result: 'Done.' });
  t.match(await tried(remove, { event_id: '..' }), { ok: false, error: { code: 'invalid_arguments' } });

  for (const id of [early, create, remove]) await cp.call('DELETE', `/v1/tools/${id}`);
  t.equal((await asAdmin('DELETE', `/v1/app-connections/${begun.id}`)).status, 204);
  t.equal(google.oauth.live, 0);
  t.equal(google.oauth.revocations, 1, 'the vendor was told');
});

void t.test('nobody completes what is not theirs, old, or something else', async (t) => {
  const refused = async (query: URLSearchParams | string, message: string) => {
    const { status, body } = await returned(query);
    t.equal(status, 400, message);
    return body;
  };
  const of = (query: URLSearchParams, change: Record<string, string>) => {
    const changed = new URLSearchParams(query);
    for (const [name, value] of Object.entries(change)) changed.set(name, value);
    return changed;
  };
  await refused('', 'nothing');
  await refused('state=x&code=y', 'no state of ours');

  const mine = await started('hubspot');
  const query = await agreed(mine.authorize_url!);
  const [id, secret] = query.get('state')!.split('.');
  await refused(
    of(query, { state: `${id}.${secret!.replace(/^./, (one) => (one === 'a' ? 'b' : 'a'))}` }),
    'guessed',
  );
  await refused(query, 'a guess is the one use of it');

  // Another org's person agrees, and is led back with the state of this one.
  const other = await signInUser(cp, 'other@example.com');
  const org = await cp.call<{ id: string }>('POST', '/v1/orgs', {
    token: other.token,
    body: { name: 'Other' },
  });
  const theirs = await cp.call<Connection>('POST', `/v1/orgs/${org.body.id}/app-connections`, {
    token: other.token,
    body: { app: 'hubspot', name: 'Theirs' },
  });
  const again = (await asAdmin('POST', `/v1/app-connections/${mine.id}/reconnect`)).body;
  const ownQuery = await agreed(again.authorize_url!);
  const theirQuery = await agreed(theirs.body.authorize_url!);
  await refused(of(ownQuery, { code: theirQuery.get('code')! }), 'a code that was given to another');
  t.match(await read(mine.id), {
    status: 'pending',
    last_error: /refuses the authorization \(invalid_grant\)/,
  });
  await refused(theirQuery, 'and that code is spent');

  const begin = async () =>
    (await asAdmin('POST', `/v1/app-connections/${mine.id}/reconnect`, {})).body.authorize_url!;
  const first = await agreed(await begin());
  const newest = await agreed(await begin());
  await refused(first, 'begun anew since');
  await refused(`${String(newest)}&state=${newest.get('state')}`, 'two states');

  const old = await agreed(await begin());
  await database
    .model(appAuthorizationCollection)
    .updateMany({ connection_id: mine.id }, { $set: { expires_at: new Date() } });
  await refused(old, 'too old');

  await refused(of(await agreed(await begin()), { iss: 'https://evil.example.com' }), 'from another vendor');
  t.match(await read(mine.id), { status: 'pending', last_error: /does not belong to this authorization/ });

  hubSpot.oauth.consent = 'deny';
  const denied = await agreed(await begin());
  hubSpot.oauth.consent = 'agree';
  t.match(await refused(of(denied, { error_description: '<script>' }), 'denied'), 'was not granted');
  t.match(await read(mine.id), {
    status: 'pending',
    last_error: 'Access to HubSpot was not granted. Start the connection again.',
  });

  hubSpot.oauth.consent = { scope: 'oauth' };
  const partly = await agreed(await begin());
  hubSpot.oauth.consent = 'agree';
  const before = hubSpot.oauth.revocations;
  t.match(await refused(partly, 'not all permissions'), 'crm.objects.contacts.read');
  t.equal(hubSpot.oauth.revocations, before + 1, 'what was given is given back');

  const last = await agreed(await begin());
  await admin.join(orgId, 'editor');
  await refused(last, 'whoever began it may not any more');
  await admin.join(orgId, 'owner');
  t.match(await read(mine.id), { status: 'pending' });
  t.equal((await returned(await agreed(await begin()))).status, 200, 'nothing of this stands in the way');
});

void t.test('two control planes renew a token once', async (t) => {
  const { id: connectionId } = await connected('hubspot');
  const id = await tool(connectionId, 'find_contacts');
  await due(connectionId);
  const renewed = hubSpot.oauth.renewals;
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  hubSpot.oauth.beforeRenewal = () => gate;
  const calls = [tried(id, { text: 'a' }), tried(id, { text: 'b' })];
  await eventually(async () => hubSpot.oauth.renewals > renewed);
  calls.push(tried(id, { text: 'c' }, second), tried(id, { text: 'd' }, second));
  open();
  for (const trial of await Promise.all(calls)) t.match(trial, { ok: true });
  t.equal(hubSpot.oauth.renewals, renewed + 1, 'a second renewal would have ended the grant');
  hubSpot.oauth.beforeRenewal = () => Promise.resolve();
  await due(connectionId);
  t.match(await tried(id, { text: 'e' }, second), { ok: true }, 'the token that came with it is kept');
});

void t.test('a connection that the vendor ends says so, and can be made again', async (t) => {
  const made = await connected('hubspot');
  t.equal(made.account_label, '4711');
  const id = await tool(made.id, 'create_contact');
  const contact = { email: `${randomUUID()}@example.com`, first_name: 'Asha' };
  hubSpot.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
  await due(made.id);
  t.match(await tried(id, contact), { ok: false, error: { code: 'unreachable' } });
  t.match(await read(made.id), { status: 'connected' }, 'a vendor that is down says nothing of it');
  t.match(await tried(id, contact), { ok: true, status: 201 });

  hubSpot.oauth.withdraw();
  await due(made.id);
  t.match(await tried(id, contact), { ok: false, error: { code: 'not_connected', message: /reconnect/ } });
  t.match(await read(made.id), { status: 'expired', last_error: /refuses the authorization.*Reconnect/ });

  const again = await asAdmin('POST', `/v1/app-connections/${made.id}/reconnect`);
  t.match(again, { status: 200, body: { status: 'pending', last_error: null } });
  t.equal((await returned(await agreed(again.body.authorize_url!))).status, 200);
  t.match(await tried(id, { ...contact, email: 'b@example.com' }), { ok: true });
  hubSpot.oauth.withdraw();
  t.match(await tried(id, contact), { ok: false, error: { code: 'not_connected' } });
  t.match(await read(made.id), { status: 'revoked' }, 'it was not due: it was withdrawn');

  const third = await asAdmin('POST', `/v1/app-connections/${made.id}/reconnect`);
  t.equal((await returned(await agreed(third.body.authorize_url!))).status, 200);
  hubSpot.oauth.clientSecret = 'another';
  await due(made.id);
  t.match(await tried(id, contact), { ok: false, error: { code: 'not_connected' } });
  hubSpot.oauth.clientSecret = CLIENT.clientSecret;
  t.match(await read(made.id), { status: 'error', last_error: /OAuth client.*\(invalid_client\)/ });
});

void t.test('a vendor that answers 200 whatever happens is understood', async (t) => {
  const made = await connected('slack');
  t.match(made, {
    account_label: 'Acme',
    expires_at: null,
    scopes: ['chat:write', 'users:read', 'users:read.email'],
  });
  const post = await tool(made.id, 'post_message', { fixed_arguments: { channel: 'C1' } });
  t.match(await tried(post, { text: 'A call is waiting.' }), { ok: true, status: 200 });
  t.match(slack.messages, [{ channel: 'C1', text: 'A call is waiting.' }]);
  const find = await tool(made.id, 'find_user');
  const unknown = await tried(find, { email: 'nobody@example.com' });
  t.match(unknown, { ok: false, status: 400, error: { code: 'http_error', message: /users_not_found/ } });
  slack.oauth.withdraw();
  t.match(await tried(post, { text: 'Again.' }), { ok: false, error: { code: 'not_connected' } });
  t.match(await read(made.id), { status: 'revoked' }, 'there is nothing to renew it with');
  const again = await asAdmin('POST', `/v1/app-connections/${made.id}/reconnect`);
  const query = await agreed(again.body.authorize_url!);
  query.set('code', 'guessed');
  t.equal((await returned(query)).status, 400);
  t.match(await read(made.id), { status: 'pending', last_error: /\(invalid_code\)/ });
  const last = await connected('slack');
  t.equal((await asAdmin('DELETE', `/v1/app-connections/${last.id}`)).status, 204);
  t.equal(slack.oauth.live, 0);
});

void t.test('a vendor that is down is told later to revoke', async (t) => {
  const { id } = await connected('google_sheets');
  const row = await tool(id, 'append_row', { fixed_arguments: { spreadsheet_id: 's1', range: 'Calls!A:C' } });
  t.match(await tried(row, { values: ['Asha', 7, true] }), { ok: true });
  t.same(google.rows, [['Asha', 7, true]]);
  await cp.call('DELETE', `/v1/tools/${row}`);
  google.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
  t.equal((await asAdmin('DELETE', `/v1/app-connections/${id}`)).status, 204);
  t.equal(google.oauth.live, 1);
  const pending = database.model(appRevocationCollection);
  t.equal(await pending.countDocuments(), 1);
  t.notMatch(JSON.stringify(await pending.find().lean()), 'ya29.');
  await pending.updateMany({}, { $set: { due_at: new Date(0) } });
  const worker = cp.app.features.workers.find(({ name }) => name === 'app revocations')!;
  await worker.work(AbortSignal.timeout(10_000));
  t.equal(google.oauth.live, 0);
  t.equal(await pending.countDocuments(), 0);
});

void t.test('an org that is removed gives its connections back', async (t) => {
  await connected('hubspot');
  t.not(hubSpot.oauth.live, 0);
  const scope = new Scope(database, {
    ...{ orgId: cp.first.org._id, projectId: null, projects: null, role: 'owner' },
  });
  hubSpot.setFaults([{ kind: 'refuse', status: 503, count: 1 }]);
  await cp.app.features.eraseOrg(scope);
  await cp.app.features.eraseOrg(scope);
  const left = database.model(appConnectionCollection).countDocuments({ secrets: { $ne: null } });
  t.equal(await left, 0);
  await database.model(appConnectionCollection).deleteMany({ org_id: cp.first.org._id });
  const pending = database.model(appRevocationCollection);
  await pending.updateMany({}, { $set: { due_at: new Date(0) } });
  await cp.app.features.workers
    .find(({ name }) => name === 'app revocations')!
    .work(AbortSignal.timeout(10_000));
  t.equal(hubSpot.oauth.live, 0);
  t.equal(google.oauth.live, 0);
});

void t.test('no credential of an app is in the log', (t) => {
  const log = lines.join('');
  t.match(log, 'access token renewed');
  for (const secret of secrets) t.notOk(log.includes(secret), secret.slice(0, 8));
  t.end();
});
