import { join } from 'node:path';
import t from 'tap';
import { openDocumentStore } from '@parley/document-store/document-store';
import { credentialDigest, TICKET_LIFE_SECONDS } from '@parley/shared/contracts/admission';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { openDatabase } from '../storage/database.ts';
import { wsTicketCollection } from './ws-ticket-model.ts';
import { WsTicketService } from './ws-ticket-service.ts';

const store = await openDocumentStore({ path: join(t.testdir(), 'tickets.db') });
const database = await openDatabase(store.uri, { logger: silentLogger() });
t.teardown(async () => {
  await database[Symbol.asyncDispose]();
  await store[Symbol.asyncDispose]();
});
const model = database.model(wsTicketCollection);
let sessions = 0;

function scene() {
  const clock = new ManualClock(Date.now());
  return { clock, tickets: new WsTicketService({ database, clock }), sessionId: `ses_${++sessions}` };
}
const invalid = { status: 401, code: 'credential_invalid' };

void t.test('what is issued is stored as a digest, with what it is bound to', async (t) => {
  const { clock, tickets, sessionId } = scene();
  const read = async (credential: string) =>
    (await model.findOne({ _id: credentialDigest(credential) }).lean())!;
  const one = await tickets.issueTicket({ sessionId, carrier: 'twilio' });
  t.match(one.credential, /^[\w-]{43}$/);
  t.same(one.expiresAt, new Date(clock.now() + TICKET_LIFE_SECONDS * 1000));
  t.match(await read(one.credential), {
    ...{ kind: 'ticket', session_id: sessionId, carrier: 'twilio', carrier_call_id: null, origin: null },
    ...{ expires_at: one.expiresAt, claimed_by: null, claimed_at: null, leg: null },
  });
  const bound = await tickets.issueTicket({
    sessionId,
    carrier: 'twilio',
    carrierCallId: 'CA1',
    lifeSeconds: 5,
  });
  t.same(bound.expiresAt, new Date(clock.now() + 5000));
  t.match(await read(bound.credential), { carrier_call_id: 'CA1' });
  const token = await tickets.issueRealtimeToken({ sessionId, lifeSeconds: 60, origin: 'https://a.example' });
  t.match(token.credential, /^ek_[\w-]{43}$/);
  t.match(await read(token.credential), {
    kind: 'realtime',
    origin: 'https://a.example',
    expires_at: token.expiresAt,
  });
  const own = await tickets.issueRealtimeToken({ sessionId, lifeSeconds: 60, credential: 'ek_own' });
  t.equal(own.credential, 'ek_own');
  t.match(await read('ek_own'), { origin: null });
  await tickets.registerParticipant({ sessionId, jti: 'jti_1', expiresAt: token.expiresAt });
  t.match(await read('jti_1'), { kind: 'participant', session_id: sessionId, expires_at: token.expiresAt });
  t.ok(await tickets.isKnown(credentialDigest('jti_1')));
  t.notOk(await tickets.isKnown(credentialDigest('jti_2')));
});

void t.test('a credential is good as what it is, until it is claimed or over', async (t) => {
  const { clock, tickets, sessionId } = scene();
  const { credential } = await tickets.issueTicket({ sessionId, carrier: 'twilio', lifeSeconds: 5 });
  const digest = credentialDigest(credential);
  t.match(await tickets.check('ticket', digest), { session_id: sessionId });
  t.match(await tickets.check('ticket', digest, 'twilio'), { session_id: sessionId });
  await t.rejects(tickets.check('ticket', digest, 'plivo'), invalid);
  await t.rejects(tickets.check('realtime', digest), invalid);
  clock.advance(4999);
  t.ok(await tickets.check('ticket', digest));
  clock.advance(1);
  await t.rejects(tickets.check('ticket', digest), invalid);
  await t.rejects(tickets.claim('ticket', digest, 'a', { carrier: 'twilio' }), invalid);
  await t.rejects(tickets.claim('ticket', 'unknown', 'a', { carrier: 'twilio' }), invalid);
});

void t.test('one socket claims a credential, as often as it asks, even late', async (t) => {
  const { clock, tickets, sessionId } = scene();
  const { credential } = await tickets.issueTicket({ sessionId, carrier: 'twilio', lifeSeconds: 5 });
  const digest = credentialDigest(credential);
  const claim = (id: string) => tickets.claim('ticket', digest, id, { carrier: 'twilio' });
  const now = new Date(clock.now());
  t.match(await claim('a'), { claimed_by: 'a', claimed_at: now, session_id: sessionId });
  await t.rejects(claim('b'), { status: 409, code: 'in_use' });
  clock.advance(60_000);
  t.match(await claim('a'), { claimed_by: 'a' });
  await t.rejects(tickets.check('ticket', digest), invalid);
  await tickets.setLeg(digest, 3);
  t.match(await claim('a'), { leg: 3 });
});

void t.test('what it is bound to must fit, and a socket that does not burns nothing', async (t) => {
  const { tickets, sessionId } = scene();
  const bound = await tickets.issueTicket({ sessionId, carrier: 'twilio', carrierCallId: 'CA1' });
  const digest = credentialDigest(bound.credential);
  await t.rejects(tickets.claim('ticket', digest, 'a', { carrier: 'plivo', carrierCallId: 'CA1' }), invalid);
  await t.rejects(tickets.claim('ticket', digest, 'a', {}), invalid);
  for (const carrierCallId of ['CA2', undefined])
    await t.rejects(tickets.claim('ticket', digest, 'a', { carrier: 'twilio', carrierCallId }), {
      status: 409,
      code: 'call_id_mismatch',
    });
  t.match(await tickets.claim('ticket', digest, 'a', { carrier: 'twilio', carrierCallId: 'CA1' }), {
    claimed_by: 'a',
  });
  const token = await tickets.issueRealtimeToken({ sessionId, lifeSeconds: 60, origin: 'https://a.example' });
  const realtime = credentialDigest(token.credential);
  for (const origin of ['https://b.example', undefined])
    await t.rejects(tickets.claim('realtime', realtime, 'a', { origin }), {
      status: 401,
      code: 'origin_refused',
    });
  t.match(await tickets.claim('realtime', realtime, 'a', { origin: 'https://a.example' }), {
    claimed_by: 'a',
  });
  const free = await tickets.issueRealtimeToken({ sessionId, lifeSeconds: 60 });
  t.ok(
    await tickets.claim('realtime', credentialDigest(free.credential), 'a', { origin: 'https://c.example' }),
  );
});

void t.test('what nobody has used can be made worthless, and its end is known', async (t) => {
  const { clock, tickets, sessionId } = scene();
  t.equal(await tickets.lastUnclaimedExpiry(sessionId), null);
  const used = await tickets.issueTicket({ sessionId, carrier: 'twilio', lifeSeconds: 90 });
  await tickets.claim('ticket', credentialDigest(used.credential), 'a', { carrier: 'twilio' });
  t.equal(await tickets.lastUnclaimedExpiry(sessionId), null);
  await tickets.issueTicket({ sessionId, carrier: 'twilio', lifeSeconds: 60 });
  await tickets.issueTicket({ sessionId, carrier: 'twilio', lifeSeconds: 30 });
  t.same(await tickets.lastUnclaimedExpiry(sessionId), new Date(clock.now() + 60_000));
  const other = await tickets.issueTicket({ sessionId: 'ses_other', carrier: 'twilio' });
  await tickets.revokeUnclaimed(sessionId);
  t.equal(await tickets.lastUnclaimedExpiry(sessionId), null);
  t.ok(await tickets.isKnown(credentialDigest(used.credential)), 'what was used stays');
  t.ok(await tickets.isKnown(credentialDigest(other.credential)));
});
