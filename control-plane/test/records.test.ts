import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair } from 'jose';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { credentialDigest } from '@parley/shared/contracts/admission';
import { defaultAgentConfig } from '@parley/shared/contracts/agent-config';
import { OutboundFailedError } from '@parley/shared/http/outbound-errors';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { AdmissionCredentials } from '../src/admissions/admission-credentials.ts';
import { SessionLegs } from '../src/admissions/session-legs.ts';
import { SigningKeys } from '../src/crypto/signing-keys.ts';
import { idempotencyCollection, idempotencyId, IdempotencyStore } from '../src/http/idempotency.ts';
import { signParticipantToken } from '../src/participant-tokens/participant-token.ts';
import { analysisResultCollection } from '../src/post-call/analysis-result-model.ts';
import { AnalysisResults } from '../src/post-call/analysis-results.ts';
import { EMPTY_LEAD } from '../src/post-call/lead-analysis.ts';
import { LeadAnalyst } from '../src/post-call/lead-analyst.ts';
import { postCallJobCollection, repeatId } from '../src/post-call/post-call-job-model.ts';
import { PostCallJobs } from '../src/post-call/post-call-jobs.ts';
import { ownModelCollection } from '../src/providers/own-model-model.ts';
import { providerCredentialCollection } from '../src/providers/provider-credential-model.ts';
import { rateLimitCollection } from '../src/rate-limits/rate-limit-model.ts';
import { agentCollection } from '../src/agents/agent-model.ts';
import { telephonyAccountCollection } from '../src/telephony/telephony-account-model.ts';
import { RateLimitService } from '../src/rate-limits/rate-limit-service.ts';
import type { SessionAgent } from '../src/sessions/session-agent.ts';
import { sessionCollection } from '../src/sessions/session-model.ts';
import type { SessionRecord } from '../src/sessions/session-record.ts';
import { SessionStore } from '../src/sessions/session-store.ts';
import type { Collection, StoredRecord } from '../src/storage/collection.ts';
import { openDatabase } from '../src/storage/database.ts';
import { Scope } from '../src/tenancy/scope.ts';
import { webhookDeliveryCollection } from '../src/webhooks/webhook-delivery-model.ts';
import { WebhookDeliveryService } from '../src/webhooks/webhook-delivery-service.ts';
import { RETRY_DELAYS_MS } from '../src/webhooks/webhook-retry.ts';
import { wsTicketCollection } from '../src/ws-tickets/ws-ticket-model.ts';
import { WsTicketService } from '../src/ws-tickets/ws-ticket-service.ts';

// Rules that hold record by record: the services over a database, without a server around them.

const owned = new DisposableList();
t.teardown(() => owned.dispose());
const folder = await mkdtemp(join(tmpdir(), 'parley-records-'));
owned.defer(() => rm(folder, { recursive: true, force: true }));
const logger = silentLogger();
const store = owned.add(await openDocumentStore({ path: join(folder, 'store.db') }));
const database = owned.add(await openDatabase(store.uri, { logger }));
await database.ensureIndexes([
  sessionCollection,
  wsTicketCollection,
  idempotencyCollection,
  rateLimitCollection,
  webhookDeliveryCollection,
  postCallJobCollection,
  analysisResultCollection,
]);

// The clocks begin now: the store deletes by the real time what has expired.

/** What sessions told of their states; `fails` makes the next one fail. */
const log = { fails: false, keys: [] as (string | undefined)[] };

function scene() {
  const clock = new ManualClock(Date.now());
  const tickets = new WsTicketService({ database, clock });
  const sessions = new SessionStore({
    database,
    events: {
      append(_owner, { key }) {
        if (log.fails) return Promise.reject(new Error('killed'));
        log.keys.push(key);
        return Promise.resolve();
      },
    },
  });
  const insert = (more: Partial<SessionRecord> = {}, beside?: (session: SessionRecord) => Promise<unknown>) =>
    sessions.insert(
      {
        _id: randomUUID(),
        org_id: 'org_1',
        project_id: 'prj_1',
        channel: 'telephony',
        direction: 'inbound',
        transport: 'media_stream',
        status: 'created',
        llm_id: 'llm_1',
        stt_id: 'stt_1',
        tts_id: 'tts_1',
        ...more,
      },
      beside,
    );
  return { clock, tickets, sessions, insert };
}

void t.test('a scope of one project holds records of it and of all projects, and no sibling’s', async (t) => {
  const kinds: { collection: Collection<StoredRecord>; tenant: (project: string | null) => object }[] = [
    { collection: sessionCollection, tenant: (project_id) => ({ project_id }) },
    { collection: rateLimitCollection, tenant: (project_id) => ({ project_id }) },
    { collection: providerCredentialCollection, tenant: (one) => ({ project_ids: one && [one, 'prj_9'] }) },
    { collection: ownModelCollection, tenant: () => ({}) },
  ];
  for (const { collection, tenant } of kinds) {
    const { tenancy, name } = collection;
    const records: [string, string, string | null][] = [
      ['own', 'org_s', 'prj_s1'],
      ['sibling', 'org_s', 'prj_s2'],
      ['foreign', 'org_t', 'prj_s1'],
      ...(tenancy === 'project' ? [] : [['open', 'org_s', null] satisfies [string, string, null]]),
    ];
    await database.model(collection).collection.insertMany(
      // A name of its own for each: unique indexes want one.
      records.map(([id, org_id, project]) => ({
        _id: `${name}_${id}`,
        org_id,
        resource: id,
        ...tenant(project),
      })) as never[],
    );
    const seen = async (projects: string[] | null) => {
      const scope = new Scope(database, { orgId: 'org_s', projectId: null, projects, role: 'admin' });
      const found = await scope.collection(collection).find({}, { sort: { _id: 1 }, limit: 10 });
      return found.map(({ _id }) => _id.slice(name.length + 1)).join();
    };
    const ofOrg = tenancy === 'project' ? 'own,sibling' : 'open,own,sibling';
    t.equal(await seen(null), ofOrg, `${tenancy}: of the whole org`);
    t.equal(
      await seen(['prj_s1']),
      { project: 'own', shared: 'open,own', projects: 'open,own', org: ofOrg, none: '' }[tenancy],
      `${tenancy}: of one project`,
    );
    if (tenancy === 'org') continue;
    t.equal(await seen(['prj_s1', 'prj_s2']), ofOrg, `${tenancy}: of two projects`);
    const scope = new Scope(database, {
      orgId: 'org_s',
      projectId: 'prj_s1',
      projects: ['prj_s1'],
      role: 'admin',
    });
    for (const id of [`${name}_sibling`, `${name}_foreign`]) {
      await t.rejects(scope.collection(collection).get(id), { code: 'not_found' }, id);
      t.equal(await scope.collection(collection).update({ _id: id }, { $set: {} }), null);
      t.equal(await scope.collection(collection).delete({ _id: id }), null);
      t.equal(await scope.collection(collection).deleteMany({ _id: id }), 0);
    }
  }
});

void t.test('tickets', async (t) => {
  const keys = async () => {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true });
    return SigningKeys.from([{ ...(await exportJWK(privateKey)), kid: 'test' }]);
  };
  const issuer = 'https://voice.example.com';
  const signingKeys = await keys();
  const open = () => {
    const { clock, tickets, sessions, insert } = scene();
    const carriers = { open: () => Promise.resolve(null) };
    const admission = new AdmissionCredentials({
      tickets,
      store: sessions,
      carriers,
      signingKeys,
      clock,
      publicUrl: issuer,
    });
    return { clock, tickets, sessions, insert, admission };
  };
  const start = { carrier: 'plivo', carrier_call_id: 'call-1', encoding: 'pcmu', sample_rate: 8000 } as const;
  const refused = { code: 'credential_invalid' };

  await t.test('the check passes no session that is over', async (t) => {
    const { tickets, sessions, insert, admission } = open();
    for (const to of ['expired', 'cancelled', 'failed'] as const) {
      const { _id: sessionId } = await insert();
      const { credential } = await tickets.issueTicket({ sessionId, carrier: 'plivo' });
      const request = { kind: 'ticket', digest: credentialDigest(credential) } as const;
      t.match(await admission.check(request), { session_id: sessionId });
      await sessions.end(sessionId, to, {});
      await t.rejects(admission.check(request), refused, to);
    }
  });

  await t.test('a credential is checked and claimed as what it is, until it ends', async (t) => {
    const { clock, tickets, insert } = open();
    const { _id: sessionId } = await insert();
    const digest = credentialDigest((await tickets.issueTicket({ sessionId, carrier: 'plivo' })).credential);
    t.match(await tickets.check('ticket', digest, 'plivo'), { session_id: sessionId });
    await t.rejects(tickets.check('ticket', digest, 'twilio'), refused);
    await t.rejects(tickets.check('realtime', digest), refused);
    await t.rejects(tickets.claim('realtime', digest, 'claim_a', {}), refused);
    await t.rejects(tickets.claim('ticket', digest, 'claim_a', { carrier: 'twilio' }), refused);
    await t.rejects(tickets.claim('ticket', digest, 'claim_a', {}), refused, 'of no carrier');
    t.match(await tickets.claim('ticket', digest, 'claim_a', start), { claimed_by: 'claim_a' });
    await t.rejects(tickets.check('ticket', digest), refused, 'claimed');
    await t.rejects(tickets.claim('ticket', digest, 'claim_b', start), { code: 'in_use' });

    const { credential, expiresAt } = await tickets.issueTicket({ sessionId, carrier: 'plivo' });
    clock.advance(expiresAt.getTime() - clock.now() - 1);
    t.ok(await tickets.check('ticket', credentialDigest(credential)));
    clock.advance(1);
    await t.rejects(tickets.check('ticket', credentialDigest(credential)), refused, 'too late');
    await t.rejects(tickets.claim('ticket', credentialDigest(credential), 'claim_c', start), refused);
    await tickets.claim('ticket', digest, 'claim_a', start);
  });

  await t.test('a ticket of one call, and a token of one page, admit no other', async (t) => {
    const { tickets, insert } = open();
    const { _id: sessionId } = await insert();
    const ticket = await tickets.issueTicket({ sessionId, carrier: 'plivo', carrierCallId: 'call-1' });
    const digest = credentialDigest(ticket.credential);
    const other = { carrier: 'plivo', carrierCallId: 'call-2' } as const;
    await t.rejects(tickets.claim('ticket', digest, 'claim_a', other), { code: 'call_id_mismatch' });
    t.ok(await tickets.claim('ticket', digest, 'claim_a', { ...other, carrierCallId: 'call-1' }));
    const page = { sessionId, lifeSeconds: 60, origin: 'https://a.example' };
    const token = credentialDigest((await tickets.issueRealtimeToken(page)).credential);
    for (const origin of ['https://b.example', undefined])
      await t.rejects(tickets.claim('realtime', token, 'claim_a', { origin }), { code: 'origin_refused' });
    t.ok(await tickets.claim('realtime', token, 'claim_a', { origin: 'https://a.example' }));
  });

  await t.test('a participant token opens the session that it names', async (t) => {
    const { clock, tickets, insert, admission } = open();
    const [mine, other] = [(await insert())._id, (await insert())._id];
    const context = () => ({ keys: signingKeys, issuer, nowMs: clock.now() });
    const sign = (claims: { sessionId: string; room?: string; jti: string }) =>
      signParticipantToken({ room: `room_${claims.sessionId}`, ...claims }, context());
    const claim = (token: string) =>
      admission.claim({ kind: 'participant', token, claim_id: 'claim_12345', gateway_id: 'gw_1', start });
    const jti = randomUUID();
    const good = await sign({ sessionId: mine, jti });
    await tickets.registerParticipant({ sessionId: mine, jti, expiresAt: good.expiresAt });
    t.match(await claim(good.token), { session_id: mine });
    await t.rejects(claim((await sign({ sessionId: other, jti })).token), refused, 'named by another');
    const elsewhere = await sign({ sessionId: mine, room: `room_${other}`, jti });
    await t.rejects(claim(elsewhere.token), refused, 'for a room of another');
    await t.rejects(claim((await sign({ sessionId: mine, jti: randomUUID() })).token), refused, 'unknown');
  });
});

void t.test('one claim is one leg, though the process dies before it has noted so', async (t) => {
  const { clock, tickets, sessions, insert } = scene();
  const { _id: sessionId } = await insert();
  const { credential } = await tickets.issueRealtimeToken({ sessionId, lifeSeconds: 60 });
  const digest = credentialDigest(credential);
  let dies = true;
  const legs = new SessionLegs({
    store: sessions,
    slots: { retake: () => Promise.resolve() },
    clock,
    tickets: {
      setLeg: (...leg) => (dies ? Promise.reject(new Error('killed')) : tickets.setLeg(...leg)),
    },
  });
  const bind = async (claim_id: string) =>
    legs.bind(await tickets.claim('realtime', digest, claim_id, {}), {
      kind: 'realtime',
      digest,
      claim_id,
      gateway_id: 'gw_1',
      start: { encoding: 'pcm16', sample_rate: 24_000 },
    });
  await t.rejects(bind('claim_1'), { message: 'killed' });
  dies = false;
  t.match(await bind('claim_1'), { leg: 0, claim_id: 'claim_1' });
  t.match(await bind('claim_1'), { leg: 0 }, 'asked again for the plan');
  t.equal((await tickets.claim('realtime', digest, 'claim_1', {})).leg, 0, 'noted in the end');
  const socket = { gatewayId: 'gw_1', claimId: 'claim_1', carrierCallId: null };
  t.equal(await sessions.admit(sessionId, socket, new Date(0)), null, 'the same claim is no further leg');
  // Another connection takes over; the first one gets it back by no repetition.
  t.match(await sessions.admit(sessionId, { ...socket, claimId: 'claim_2' }, new Date(0)), { leg: 1 });
  await t.rejects(bind('claim_1'), { code: 'in_use' });
  await sessions.end(sessionId, 'cancelled', {});
  t.match(await sessions.find(sessionId), { leg: 1, claim_id: 'claim_2' });
  await t.rejects(bind('claim_1'), { code: 'session_over' });
});

void t.test('sessions', async (t) => {
  await t.test('a report replaces what the reaper said, and no later one replaces that', async (t) => {
    const { sessions, insert } = scene();
    for (const [closed_by, replaced] of [
      ['reaper', true],
      ['carrier', true],
      ['api', false],
      ['expiry', false],
    ] as const) {
      const { _id } = await insert({ status: 'in_progress' });
      t.equal(await sessions.replaceVerdict(_id, { report_id: 'evt_0' }), null, 'it is not over');
      await sessions.end(_id, 'ended', { set: { closed_by, duration_seconds: 1 } });
      const first = { report_id: 'evt_1', closed_by: 'report', duration_seconds: 2 } as const;
      t.match(await sessions.replaceVerdict(_id, first), replaced ? { ...first, follow_up: true } : null);
      const second = { report_id: 'evt_2', closed_by: 'reaper', duration_seconds: 3 } as const;
      await sessions.change(_id, { closed_by: 'reaper' });
      t.match(await sessions.replaceVerdict(_id, second), replaced ? null : second);
    }
  });

  await t.test('what is done beside the first event is done once the session is there', async (t) => {
    const { sessions, insert } = scene();
    const found: (SessionRecord | null)[] = [];
    const beside = async ({ _id }: SessionRecord) => void found.push(await sessions.find(_id));
    const { _id } = await insert({}, beside);
    t.match(found, [{ _id }]);
    const call = { telephony_account_id: 'tel_2', carrier_call_id: 'call-1' };
    await insert(call);
    await t.rejects(insert(call, beside), { code: 11_000 });
    t.equal(found.length, 1, 'not for one that is refused');
    await t.rejects(
      insert({}, () => Promise.reject(new Error('no ticket'))),
      { message: 'no ticket' },
    );
    log.fails = true;
    await t.rejects(insert({}, beside), { message: 'killed' });
    log.fails = false;
  });

  await t.test('a move that nobody was told of is told when its cause comes again', async (t) => {
    const { sessions, insert } = scene();
    const { _id } = await insert();
    log.fails = true;
    await t.rejects(sessions.transition(_id, 'in_progress', { cause: 'leg0' }));
    log.fails = false;
    log.keys.length = 0;
    t.match(await sessions.find(_id), { status: 'in_progress' });
    t.equal(await sessions.transition(_id, 'in_progress', { cause: 'leg0' }), null);
    t.same(log.keys, ['in_progress_leg0']);
    t.equal(await sessions.transition(_id, 'in_progress'), null);
    t.equal(await sessions.transition(_id, 'dialing', { cause: 'leg0' }), null);
    t.same(log.keys, ['in_progress_leg0'], 'not without a cause, nor of a state that it is not in');
  });

  await t.test(
    'a call of a carrier has one session, and a leg of another call does not join it',
    async (t) => {
      const { sessions, insert } = scene();
      const call = { telephony_account_id: 'tel_1', carrier_call_id: 'call-1' };
      const { _id } = await insert(call);
      await t.rejects(insert(call), { code: 11_000 });
      const socket = { gatewayId: 'gw_1', claimId: 'claim_1' };
      t.equal(await sessions.admit(_id, { ...socket, carrierCallId: 'call-2' }, new Date(0)), null);
      t.match(await sessions.admit(_id, { ...socket, carrierCallId: 'call-1' }, new Date(0)), { leg: 0 });
    },
  );
});

void t.test('indexes of an earlier version make room for those that replace them', async (t) => {
  const sessions = database.model(sessionCollection).collection;
  const [earlier] = sessionCollection.droppedIndexes;
  await sessions.dropIndex('listed_by_campaign_id');
  await sessions.createIndex({ org_id: 1, campaign_id: 1 }, { name: earlier! });
  await database.ensureIndexes([sessionCollection]);
  const names = (await sessions.indexes()).map(({ name }) => name);
  t.notOk(names.includes(earlier));
  t.ok(names.includes('listed_by_campaign_id'));
});

void t.test('idempotency', async (t) => {
  const open = () => {
    const clock = new ManualClock(Date.now());
    return { clock, keys: new IdempotencyStore({ database, clock }), id: randomUUID() };
  };
  const body = Buffer.from('{}');
  const answer = { status: 201, body: '{"id":"x"}' };
  const inProgress = { code: 'idempotency_in_progress' };

  await t.test('the key is one of its scope, method and path', (t) => {
    const request = ['prj_1', 'POST', '/v1/a', 'key'] as const;
    const ids = new Set([idempotencyId(...request)]);
    for (const at of request.keys()) {
      const [scope, method, path, key] = request.map((part, i) => (i === at ? `${part}2` : part));
      ids.add(idempotencyId(scope!, method!, path!, key!));
    }
    t.equal(ids.size, 5);
    t.equal(idempotencyId(...request), idempotencyId(...request));
    t.end();
  });

  await t.test('the first answer is given again, for a day', async (t) => {
    const { clock, keys, id } = open();
    t.equal(await keys.begin(id, body, 'req_1'), null);
    await t.rejects(keys.begin(id, body, 'req_2'), inProgress);
    await keys.finish(id, 'req_1', answer);
    t.same(await keys.begin(id, body, 'req_3'), answer);
    await t.rejects(keys.begin(id, Buffer.from('[]'), 'req_4'), { code: 'idempotency_key_reused' });
    clock.advance(24 * 3_600_000 - 1);
    t.same(await keys.begin(id, body, 'req_5'), answer);
    clock.advance(1);
    t.equal(await keys.begin(id, Buffer.from('[]'), 'req_6'), null, 'then it is new, though still stored');
    await t.rejects(keys.begin(id, Buffer.from('[]'), 'req_7'), inProgress);
  });

  await t.test('only who holds the key finishes or releases it', async (t) => {
    const { clock, keys, id } = open();
    await keys.begin(id, body, 'req_1');
    await keys.finish(id, 'req_2', answer);
    await keys.release(id, 'req_2');
    await t.rejects(keys.begin(id, body, 'req_3'), inProgress);
    // The first one's process died: another takes the key over, and a late first one has no say.
    let waited = 0;
    for (; (await keys.begin(id, body, 'req_4').catch(() => 'not yet')) !== null; waited += 10_000)
      clock.advance(10_000);
    t.equal(waited, 60_000, 'its lease is over');
    await keys.finish(id, 'req_1', answer);
    await keys.release(id, 'req_1');
    await t.rejects(keys.begin(id, body, 'req_5'), inProgress);
    await keys.release(id, 'req_4');
    t.equal(await keys.begin(id, body, 'req_6'), null);
    await keys.finish(id, 'req_6', answer);
    await keys.release(id, 'req_6');
    t.same(await keys.begin(id, body, 'req_7'), answer, 'an answer is not released');
  });
});

void t.test('webhooks', async (t) => {
  const open = async (answer: () => Promise<number>) => {
    const clock = new ManualClock(Date.now());
    const told: Record<string, unknown>[] = [];
    /** How long each receiver was given. */
    const waits: (number | undefined)[] = [];
    const service = (owner: string) =>
      new WebhookDeliveryService({
        database,
        clock,
        logger,
        owner,
        webhooks: {
          find: () =>
            Promise.resolve({
              webhooks: { call_ended: { enabled: true, url: 'https://example.com', timeout_ms: 4321 } },
            }),
          secrets: () => Promise.resolve(['whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz']),
        },
        callLog: { append: (_owner, { data }) => Promise.resolve(void told.push(data)) },
        safeFetch: {
          request: async ({ timeoutMs }) => {
            waits.push(timeoutMs);
            return { status: await answer(), headers: {}, body: Buffer.alloc(0), truncated: false };
          },
        },
      });
    const first = service('one');
    const model = database.model(webhookDeliveryCollection);
    const _id = await first.create({
      org_id: 'org_1',
      project_id: 'prj_1',
      session_id: randomUUID(),
      agent_id: 'agt_1',
      event: 'call.ended',
      url: 'https://example.com',
      payload: {},
    });
    const read = async () => (await model.findOne({ _id }).lean())!;
    /** How long after now it is tried again. */
    const dueIn = async () => (await read()).next_attempt_at!.getTime() - clock.now();
    return { clock, first, service, model, read, dueIn, told, waits, _id };
  };
  const never = new AbortController().signal;
  const about = (ms: number, expected: number) => Math.abs(ms - expected) <= expected / 10;

  await t.test('a receiver has as long as the agent says', async (t) => {
    const { first, waits } = await open(() => Promise.resolve(200));
    await first.work(never);
    t.same(waits, [4321]);
  });

  await t.test('asked for again, it begins its attempts anew', async (t) => {
    const { clock, first, read, dueIn } = await open(() => Promise.resolve(500));
    for (const [attempt, delay] of RETRY_DELAYS_MS.entries()) {
      await first.work(never);
      t.match(await read(), { status: 'retrying', attempts: attempt + 1, last_status: 500 });
      t.ok(about(await dueIn(), delay), `after attempt ${attempt + 1}`);
      await t.rejects(first.redeliver(await read()), { code: 'invalid_state' });
      clock.advance(await dueIn());
    }
    await first.work(never);
    t.match(await read(), { status: 'failed', attempts: 8, next_attempt_at: null });
    t.match(await first.redeliver(await read()), { status: 'pending', attempts: 8 });
    await first.work(never);
    t.match(await read(), { status: 'retrying', attempts: 9, round_attempts: 1 });
    t.ok(about(await dueIn(), RETRY_DELAYS_MS[0]), 'the first delay again');
  });

  await t.test('one attempt is made by one process, until its lease is over', async (t) => {
    let asked = 0;
    const hang = Promise.withResolvers<number>();
    const { clock, first, service, read } = await open(() =>
      asked++ === 0 ? hang.promise : Promise.resolve(503),
    );
    const working = first.work(never);
    while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
    await service('two').work(never);
    t.equal(asked, 1);
    clock.advance(60_000);
    await service('two').work(never);
    t.equal(asked, 2, 'a process that takes so long is dead');
    t.match(await read(), { status: 'retrying', last_status: 503, attempts: 2 });
    hang.resolve(200);
    await working;
    t.match(await read(), { status: 'retrying', last_status: 503 }, 'and has no say any more');
  });

  await t.test('what cannot be reached is named by a code', async (t) => {
    const { first, read, told } = await open(() =>
      Promise.reject(new OutboundFailedError('timeout', 'It took too long.')),
    );
    await first.work(never);
    t.match(await read(), { status: 'retrying', last_status: null, last_error: 'timeout' });
    t.match(told, [{ attempt: 1, ok: false, last_error: 'timeout' }]);
  });
});

const DESK: SessionAgent = {
  ...{ agent_id: 'agt_1', version: 1, org_id: 'org_1', project_id: 'prj_1', name: 'Desk' },
  ...{
    system_prompt: '',
    greeting: '',
    llm_id: 'llm_1',
    stt_id: 'stt_1',
    tts_id: 'tts_1',
    tts_voice_id: null,
  },
  ...{ config: defaultAgentConfig(), flow_definition: null, knowledge_base_ids: [], archived: false },
};

void t.test('after a call', async (t) => {
  const never = new AbortController().signal;
  const unused = () => Promise.reject(new Error('unused'));

  await t.test('a job is done by one process, which keeps its lease', async (t) => {
    const { clock, insert } = scene();
    const session = await insert({ status: 'ended' });
    const ran: string[] = [];
    const finished: string[] = [];
    let end = Promise.withResolvers<void>();
    const jobs = (name: string) =>
      new PostCallJobs({
        database,
        clock,
        logger,
        run: {
          async run(_job, signal) {
            ran.push(name);
            signal.addEventListener('abort', () => end.reject(signal.reason as Error), { once: true });
            await end.promise;
          },
          finish: (_id, status) => Promise.resolve(void finished.push(status)),
        },
        repeat: { run: unused, giveUp: unused },
      });
    const first = jobs('one');
    await first.enqueue(session, { turns: null });
    const working = first.work(never);
    while (ran.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await jobs('two').work(never);
    t.same(ran, ['one']);
    const model = database.model(postCallJobCollection);
    const read = () => model.findOne({ _id: session._id }).lean();
    for (let i = 0; i < 6; i++) {
      const before = (await read())!.lease_until.getTime();
      clock.advance(5000);
      while ((await read())!.lease_until.getTime() === before)
        await new Promise((resolve) => setImmediate(resolve));
      while (clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await jobs('two').work(never);
    t.same(ran, ['one'], 'half a minute later it is still its');
    // It lets its lease lapse, and another takes the job over: what the first one makes of it counts no more.
    await model.updateOne({ _id: session._id }, { $set: { lease_until: new Date(0) } });
    const late = end;
    end = Promise.withResolvers();
    const second = jobs('two').work(never);
    while (ran.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const taken = await read();
    t.match(taken, { status: 'pending', attempts: 2 });
    late.reject(new Error('failed'));
    await working;
    t.same(await read(), taken);
    end.resolve();
    await second;
    t.same(ran, ['one', 'two']);
    t.match(await read(), { status: 'done', attempts: 2 });
    t.same(finished, []);
  });

  await t.test('a repetition that fails each time leaves no row waiting', async (t) => {
    const { clock, insert } = scene();
    const session = await insert({ status: 'ended' });
    const results = new AnalysisResults({ database, store: { find: () => Promise.resolve(session) } });
    await results.await(session, { lead: true, rules: [] });
    let attempts = 0;
    const jobs = new PostCallJobs({
      database,
      clock,
      logger,
      run: { run: unused, finish: unused },
      repeat: {
        run: () => Promise.reject(new Error(`failed ${++attempts}`)),
        giveUp: (id) => results.giveUp(id),
      },
    });
    const model = database.model(postCallJobCollection);
    const job = { status: 'pending', run_at: new Date(0), lease_until: new Date(0) } as const;
    // It was repeated twice before.
    await new model({ ...job, _id: repeatId(session._id), attempts: 2, attempts_before: 2 }).save();
    t.ok(await jobs.isPending(session._id), 'the session is kept for it');
    for (let n = 1; n <= 5; n++) {
      await jobs.work(never);
      t.equal(attempts, n);
      t.match(await results.ofSession(session._id), [{ status: n < 5 ? 'pending' : 'failed' }]);
      clock.advance(5 * 60_000);
    }
    await jobs.work(never);
    t.equal(attempts, 5);
    t.notOk(await jobs.isPending(session._id));
  });

  await t.test(
    'a lead is analysed by whom, in what language and from how many turns on the agent says',
    async (t) => {
      const { insert } = scene();
      const asked: string[] = [];
      const turn = { start_ms: 0, end_ms: 900, interrupted: false, redacted: false, text: 'I want ten.' };
      const turns = [0, 1].map((turn_index) => ({ ...turn, turn_index, role: 'caller' as const }));
      const analyse = async (analysis: Partial<SessionAgent['config']['analysis']>) => {
        const session = await insert({ status: 'ended' });
        const analyst = new LeadAnalyst({
          results: new AnalysisResults({ database, store: { find: () => Promise.resolve(session) } }),
          logger,
          chats: {
            open: ({ llmId }) =>
              Promise.resolve({
                answer({ messages }) {
                  asked.push(`${llmId}: ${String(messages[0]!.content)}`);
                  return Promise.resolve({
                    text: '{}',
                    call: null,
                    tokens: { read: 1, written: 1, estimated: true },
                  });
                },
              }),
          },
        });
        const config = defaultAgentConfig();
        config.analysis = { ...config.analysis, ...analysis };
        await analyst.analyse(session, { ...DESK, config }, turns, never);
        return asked.splice(0);
      };
      t.match(await analyse({}), [/^llm_1: /]);
      t.match(await analyse({ llm_id: 'llm_2', language: 'de-DE', goal: 'A sale' }), [/^llm_2: [^]*de-DE/]);
      t.match(await analyse({ goal: 'A sale of licences' }), [/A sale of licences/]);
      t.match(await analyse({ min_caller_turns: 2 }), [/^llm_1/]);
      t.same(await analyse({ min_caller_turns: 3 }), []);
      t.same(await analyse({ lead_analysis: false }), []);
    },
  );

  await t.test('a lead is analysed once', async (t) => {
    const { insert } = scene();
    const session = await insert({ status: 'ended' });
    const results = new AnalysisResults({ database, store: { find: () => Promise.resolve(session) } });
    let asked = 0;
    const analyst = new LeadAnalyst({
      results,
      logger,
      chats: {
        open: () => {
          asked++;
          return Promise.resolve(undefined);
        },
      },
    });
    const config = defaultAgentConfig();
    config.analysis.lead_analysis = true;
    const agent = { ...DESK, config };
    const turn = { start_ms: 0, end_ms: 900, interrupted: false, redacted: false };
    const turns = [0, 1, 2, 3].map((turn_index) => ({
      ...turn,
      turn_index,
      role: 'caller' as const,
      text: 'I want ten.',
    }));
    const analyse = () => analyst.analyse(session, agent, turns, never);
    t.equal(await analyse(), null, 'there is no model');
    t.equal(await analyse(), null);
    t.equal(asked, 2, 'what failed is tried again');
    const lead = { ...EMPTY_LEAD, ai_summary: 'They want ten.' };
    await results.saveLead(session, 'llm_1', { status: 'done', structured_json: { ...lead }, error: null });
    t.same(await analyse(), lead);
    t.equal(asked, 2);
  });
});

void t.test("an org's own limit is none above the installation's, however it is said", async (t) => {
  const clock = new ManualClock(Date.now());
  const maximum = {
    ...{ api_requests: 600, session_starts: 60, concurrent_sessions: 10, tool_calls: 0 },
    ...{ outbound_dials: 60, concurrent_outbound: 10 },
  };
  const targets = { agents: agentCollection, telephonyAccounts: telephonyAccountCollection };
  const limits = new RateLimitService({ database, clock, maximum, targets });
  const scope = new Scope(database, { orgId: 'org_l', projectId: null, projects: null, role: 'admin' });
  const caller = { auth: 'jwt', user_id: 'usr_1', sign_in_id: 'sgn_1' } as const;
  const make = (resource: keyof typeof maximum, limit: number, window_seconds: number | null) =>
    limits.create(scope, caller, {
      resource,
      limit,
      window_seconds,
      burst: null,
      enabled: true,
      action: 'reject',
    });
  const refuses = async (asked: Promise<unknown>) => {
    const error = await asked.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    t.match(error, { details: [{ loc: ['body', 'limit'], type: 'less_than_equal' }] });
  };
  await refuses(make('concurrent_sessions', 11, null));
  await refuses(make('session_starts', 61, 60));
  await refuses(make('session_starts', 2, 1));
  await refuses(make('api_requests', 36_001, 3600));
  const record = await make('session_starts', 60, 60);
  await refuses(limits.update(scope, record, { limit: 61 }));
  await refuses(limits.update(scope, record, { window_seconds: 59 }));
  t.match(await limits.update(scope, record, { limit: 3600, window_seconds: 3600 }), { limit: 3600 });
  await make('concurrent_sessions', 10, null);
  const free = new RateLimitService({
    ...{ database, clock, targets },
    maximum: { ...maximum, api_requests: 0 },
  });
  t.ok(
    await free.create(scope, caller, {
      resource: 'api_requests',
      limit: 1_000_000,
      window_seconds: 1,
      burst: null,
      enabled: true,
      action: 'reject',
    }),
    'where the installation has none',
  );
});
