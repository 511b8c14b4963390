import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { openTelnyxCarrierEmulator } from '@parley/emulators/carriers/telnyx-carrier-emulator';
import { openEmulators } from '../src/emulators.ts';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { sleep } from '@parley/shared/async/timeout';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { newId } from '@parley/shared/ids/new-id';
import { silentLogger } from '@parley/shared/logging/logger';
import { hasRedis } from './fixtures/system/redis-process.ts';
import { LONG } from '../../shared/test/fixtures/long.ts';
import { openControlPlane } from '@parley/control-plane/app';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { addTo, countedOf, noCounters } from '@parley/control-plane/campaigns/campaign-counters';
import { campaignCollection } from '@parley/control-plane/campaigns/campaign-model';
import type { CampaignRecord } from '@parley/control-plane/campaigns/campaign-model';
import { attemptCollection, contactCollection } from '@parley/control-plane/campaigns/contact-model';
import type { AttemptRecord, ContactRecord } from '@parley/control-plane/campaigns/contact-model';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { sessionCollection } from '@parley/control-plane/sessions/session-model';
import type { SessionRecord } from '@parley/control-plane/sessions/session-record';
import { openDatabase } from '@parley/control-plane/storage/database';
import { phoneNumberCollection } from '@parley/control-plane/telephony/phone-number-model';
import { Scope } from '@parley/control-plane/tenancy/scope';
import {
  openInstallationProcesses,
  START_LIMIT_MS,
  type KillableProcess,
} from './fixtures/system/installation-processes.ts';

// Real processes, a real clock and real deaths: only where somebody asks for it (`npm run test:long`).
//   CAMPAIGN_PEOPLE=500 CAMPAIGN_DEATHS=2 TEST_LONG=1 npm run test:file -- embedded/test/campaign-processes.long.ts
const PEOPLE = Number(process.env['CAMPAIGN_PEOPLE'] ?? 10_000);
/** Of each: either control plane, both at once, the gateway. */
const DEATHS = Number(process.env['CAMPAIGN_DEATHS'] ?? 5);
const KINDS = 4;
/** 3 in 100 answer, and talk for 10 s. */
const isAnswered = (to: string) => Number(to.slice(-4)) % 100 < 3;
const TALK_MS = 10_000;
/** Until what died is started again, and until the next death. */
const DOWN_MS = 1500;
const QUIET_MS = 9000;
/** As many a second as may be, but no faster than the deaths come. */
const PACE = Math.min(20, Math.max(0.5, PEOPLE / ((KINDS * DEATHS * (QUIET_MS + DOWN_MS + 4000)) / 1000)));
const LIMIT_MS = (PEOPLE / PACE) * 3000 + 900_000;

t.setTimeout(LIMIT_MS + 300_000);

void t.test(
  `${PEOPLE} people are called as often as their attempts say, whichever process dies`,
  { skip: (!LONG && 'npm run test:long') || (!hasRedis && 'there is no redis-server') },
  async (t) => {
    const owned = new DisposableList();
    t.teardown(() => owned.dispose());
    const folder = await mkdtemp(path.join(tmpdir(), 'parley-campaign-'));
    owned.defer(() => rm(folder, { recursive: true, force: true }));
    const providers = owned.add(await openEmulators({}, { logger: silentLogger(), fast: true }));
    let reach = (url: string) => url;
    const carrier = owned.add(await openTelnyxCarrierEmulator({ reach: (url) => reach(url) }));
    const dials = new Map<string, number>();
    carrier.setTelephones((to) => {
      dials.set(to, (dials.get(to) ?? 0) + 1);
      return isAnswered(to)
        ? { does: 'answer', afterMs: 300, hangUpAfterMs: TALK_MS }
        : { does: 'busy', afterMs: 300 };
    });
    const installation = owned.add(
      await openInstallationProcesses(folder, {
        ...{ ...providers.env, TELNYX_BASE_URL: carrier.apiUrl, OUTBOUND_CALLS_PER_SECOND: '100' },
        ...{ MAX_CONCURRENT_API_OUTBOUND_DIALS: '1000' },
      }),
    );
    ({ reach } = installation);
    const { campaignId, apiKey } = await setUp(installation.env, carrier.credentials);
    await installation.start();
    const call = async <T>(method: string, at: string, body?: object): Promise<T> => {
      for (const end = Date.now() + 2 * START_LIMIT_MS; ;) {
        try {
          const answer = await fetch(`${installation.apiUrl}${at}`, {
            method,
            headers: {
              authorization: `Bearer ${apiKey}`,
              'content-type': 'application/json',
              connection: 'close',
            },
            ...(body && { body: JSON.stringify(body) }),
            signal: AbortSignal.timeout(20_000),
          });
          if (answer.status < 500) return (await answer.json()) as T;
        } catch {
          // Whoever answered is dead.
        }
        if (Date.now() > end) throw new Error(`Nobody answers ${method} ${at}`);
        await sleep(500);
      }
    };
    const started = Date.now();
    await call('POST', `/v1/campaigns/${campaignId}/start`, {});

    const [first, second] = installation.planes as [KillableProcess, KillableProcess];
    const victims: KillableProcess[][] = [[first], [installation.gateway], [second], [first, second]];
    const died = victims.map(() => 0);
    let over = false;
    const killing = (async () => {
      for (let n = 0; !over && n < KINDS * DEATHS; n++) {
        await sleep(QUIET_MS);
        const kind = n % KINDS;
        await Promise.all(victims[kind]!.map((one) => one.kill()));
        died[kind]!++;
        await sleep(DOWN_MS);
        await Promise.all(victims[kind]!.map((one) => one.start()));
      }
    })();
    killing.catch(() => {});

    let campaign = { status: 'running', counters: noCounters() };
    for (let shown = 0; campaign.status === 'running' && Date.now() - started < LIMIT_MS;) {
      await sleep(1000);
      campaign = await call('GET', `/v1/campaigns/${campaignId}`);
      const { total, pending, queued, in_progress, attempts } = campaign.counters;
      const seconds = Math.round((Date.now() - started) / 1000);
      if (seconds - shown < 10) continue;
      shown = seconds;
      t.comment(
        `${seconds} s: ${total - pending - queued - in_progress} of ${total} done, ${attempts} attempts, deaths ${died.join(' ')}`,
      );
    }
    over = true;
    await killing;
    t.equal(campaign.status, 'completed');
    const seconds = Math.round((Date.now() - started) / 1000);

    const database = owned.add(await openDatabase(installation.databaseUri, { logger: silentLogger() }));
    const found = async <T>(collection: { find: (filter: object) => { lean: () => Promise<unknown> } }) =>
      (await collection.find({ campaign_id: campaignId }).lean()) as T[];
    const contacts = await found<ContactRecord>(database.model(contactCollection));
    const attempts = await found<AttemptRecord>(database.model(attemptCollection));
    const sessions = await found<SessionRecord>(database.model(sessionCollection));
    const byContact = <T extends { contact_id: string | null }>(all: readonly T[]) =>
      Map.groupBy(all, ({ contact_id }) => contact_id);
    const [attemptsOf, sessionsOf] = [byContact(attempts), byContact(sessions)];
    const counters = noCounters();
    const wrong: string[] = [];
    const outcomes = new Map<string, number>();
    let lost = 0;
    for (const contact of contacts) {
      addTo(counters, countedOf(contact), 1);
      const calls = (sessionsOf.get(contact._id) ?? []).sort(
        (a, b) => a.created_at.getTime() - b.created_at.getTime(),
      );
      const facts = {
        attempts: contact.attempts_made,
        records: attemptsOf.get(contact._id)?.length ?? 0,
        sessions: calls.length,
        dials: dials.get(contact.phone_number!) ?? 0,
      };
      // A dial whose process died before its request left is none; more than one for an attempt may not be.
      const agree = facts.attempts === facts.records && facts.records === facts.sessions;
      const neverSent = calls.filter(
        ({ failure_reason, started_at }) => failure_reason === 'carrier_error' && started_at === null,
      );
      if (!agree || facts.dials > facts.attempts || facts.dials < facts.attempts - neverSent.length)
        wrong.push(`${contact.phone_number}: ${JSON.stringify(facts)}`);
      if (calls.some((one, n) => n > 0 && one.created_at < calls[n - 1]!.ended_at!))
        wrong.push(`${contact.phone_number}: two calls at once`);
      const does = isAnswered(contact.phone_number!) ? 'answered' : 'busy';
      const theirs = attemptsOf.get(contact._id) ?? [];
      // Whoever died with a call has lost it: it failed. Nothing else may be told than what the carrier did.
      const odd = theirs.filter(({ outcome }) => outcome !== does && outcome !== 'failed');
      const known = theirs.filter(({ outcome }) => outcome === does);
      if (odd.length > 0 || known.length > facts.dials)
        wrong.push(
          `${contact.phone_number}: ${theirs.map(({ outcome }) => outcome).join()} of ${facts.dials} dials, ${does}`,
        );
      lost += theirs.length - known.length;
      const key = `${contact.status} ${contact.outcome} after ${contact.attempts_made}`;
      outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
    }
    t.comment(
      [
        `${PEOPLE} people at ${PACE.toFixed(1)} a second in ${seconds} s; ${[...dials.values()].reduce((a, b) => a + b, 0)} dials`,
        `${lost} of ${attempts.length} attempts failed, by deaths`,
        `deaths: ${victims.map((one, n) => `${one.map(({ name }) => name).join(' and ')} ${died[n]}`).join(', ')}`,
        ...[...outcomes].sort().map(([what, count]) => `${String(count).padStart(6)}  ${what}`),
      ].join('\n'),
    );
    t.same(wrong, [], 'called as often as the attempts say, never twice at once, with what the carrier did');
    t.equal(contacts.length, PEOPLE, 'nobody is forgotten');
    const record = await database
      .model(campaignCollection)
      .findOne({ _id: campaignId })
      .lean<CampaignRecord>();
    t.same(record?.counters, counters);
    t.equal(counters.pending + counters.queued + counters.in_progress + counters.waiting_retry, 0);
    t.ok(Math.min(...died) >= DEATHS, `each died ${DEATHS} times: ${died.join(' ')}`);
  },
);

/** An account, a number, an agent and a campaign with its people, made before the processes run. */
async function setUp(
  env: Record<string, string>,
  credentials: Record<string, string>,
): Promise<{ campaignId: string; apiKey: string }> {
  const opened = new DisposableList();
  try {
    const bus = opened.add(await openLocalBus({ path: ':memory:', logger: silentLogger() }));
    const config = loadControlPlaneConfig({ ...env, PORT: '0', INTERNAL_PORT: '0' });
    const plane = opened.add(await openControlPlane(config, { bus, logger: silentLogger() }));
    const { services } = plane;
    const { org, project, apiKey } = await bootstrapInstallation(services);
    const ids = { orgId: org._id, projectId: project._id };
    const scope = new Scope(services.database, { ...ids, projects: null, role: 'owner' });
    const account = await services.telephonyAccounts.create(scope, 'test', '', {
      ...{ name: 'Line', provider: 'telnyx', credentials, allowed_countries: ['US'] },
      ...{ max_concurrent_calls: 2000, calls_per_second: 50 },
    });
    await services.telephonyAccounts.verify(scope, account);
    const phone_number = '+14155551000';
    const { _id: numberId } = await scope.collection(phoneNumberCollection).insert({
      ...{ _id: newId('phn'), telephony_account_id: account._id, provider: 'telnyx', phone_number },
      ...{ active_number: phone_number, country: 'US', type: 'local', label: '', origin: 'imported' },
      ...{ capabilities: ['voice'], status: 'active', released_at: null },
    });
    const post = async (at: string, body: object): Promise<{ id: string }> => {
      const answer = await fetch(`${plane.url}${at}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return JSON.parse(text) as { id: string };
    };
    const P = `/v1/orgs/${org._id}/projects/${project._id}`;
    const agent = await post(`${P}/agents`, { name: 'Caller', config: { recording: { enabled: false } } });
    const campaign = await post(`${P}/campaigns`, {
      ...{ name: 'Deaths', agent_id: agent.id, phone_number_ids: [numberId] },
      ...{ calls_per_second: PACE, max_concurrent: 500, circuit_breaker: { enabled: false } },
      retry: { max_attempts: 2, delays_minutes: [1], retry_on: ['failed'] },
    });
    for (let from = 0; from < PEOPLE; from += 1000)
      await post(`/v1/campaigns/${campaign.id}/contacts`, {
        contacts: Array.from({ length: Math.min(1000, PEOPLE - from) }, (_, n) => ({
          phone_number: `+1415${2_000_000 + from + n}`,
        })),
      });
    return { campaignId: campaign.id, apiKey };
  } finally {
    await opened.dispose();
  }
}
