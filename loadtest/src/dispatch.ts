import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openControlPlane, type ControlPlane } from '@parley/control-plane/app';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import { campaignCollection } from '@parley/control-plane/campaigns/campaign-model';
import { contactCollection } from '@parley/control-plane/campaigns/contact-model';
import { phoneNumberCollection } from '@parley/control-plane/telephony/phone-number-model';
import { Scope } from '@parley/control-plane/tenancy/scope';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { sleep } from '@parley/shared/async/timeout';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { newId } from '@parley/shared/ids/new-id';
import { createLogger } from '@parley/shared/logging/logger';
import { runCommand } from './command.ts';
import { makeTemporary } from './make-temporary.ts';
import { readUsage } from './measure/process-usage.ts';
import { machine } from './report/html.ts';
import { table } from './report/terminal.ts';
import type { BusyCarrierReady, DialSeen } from './sut/busy-carrier-process.ts';
import { startProcess } from './sut/start-process.ts';

const USAGE = `Usage: npm run loadtest:dispatch -- [--contacts 100000] [--paces 5,20,50] [--seconds 60] [--operations] [--json]

How outbound calls are dispatched: contacts of five running campaigns of three orgs wait, and one control plane feeds and
dials them at the pace of the installation; nobody takes a call, so that each is dialled, told to be busy, and over. Each
pace is kept for so long; single calls come in between, whose way from the request to start them to the carrier is timed: at
a slow pace they wait for their turn. They are timed on an idle line, too, where nobody else is to be called. The carrier
and the document store are processes of their own. --operations counts what the control plane asks of the store, by
name, and costs some time.
`;

const DAY_MS = 86_400_000;
const SEED_BATCH = 1000;
const SINGLE_EVERY_MS = 2000;
/** On an idle line: each call is over before the next one. */
const IDLE = { calls: 60, everyMs: 600, pace: 50 };
/** Until a control plane dials as it does later. */
const WARM_UP_MS = 3000;
/** Until the carrier has told of the last dials. */
const REPORT_MS = 500;
/** Campaigns, by the org that has them. */
const CAMPAIGNS = [0, 0, 0, 1, 2];
const scriptPath = (name: string) => fileURLToPath(new URL(`./sut/${name}`, import.meta.url));

interface Org {
  /** Of its project. */
  path: string;
  authorization: string;
  numberId: string;
  number: string;
  agentId: string;
}

interface Figures {
  pace: number;
  dials: number;
  perSecond: number;
  /** Of the pace, in percent. */
  off: number;
  /** The most that an org's part is away from a third, in percent of that. */
  unfair: number;
  /** Processor time a dial, in ms: of the control plane, of the document store, and of the carrier, which is none of ours. */
  cpuMs: { controlPlane: number; store: number; carrier: number };
  singles: Ways;
  /** Operations of the store a dial, by name; empty where nobody has asked. */
  operations: Record<string, number>;
}

/** From the request that starts a call to the carrier's, in ms. */
interface Ways {
  calls: number;
  p50: number;
  p95: number;
}

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      contacts: { type: 'string', default: '100000' },
      paces: { type: 'string', default: '5,20,50' },
      seconds: { type: 'string', default: '60' },
      operations: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const owned = new DisposableList();
  try {
    const bench = await openBench(owned, await makeTemporary(owned, 'dispatch'), values.operations);
    const idle = await bench.measureIdle(signal);
    await bench.seed(Number(values.contacts));
    const figures: Figures[] = [];
    for (const pace of values.paces.split(',').map(Number))
      figures.push(await bench.measure(pace, Number(values.seconds) * 1000, signal));
    process.stdout.write(
      values.json
        ? `${JSON.stringify({ idle, figures })}\n`
        : report(Number(values.contacts), { idle, figures }),
    );
  } finally {
    await owned.dispose();
  }
}

async function openBench(owned: DisposableList, directory: string, counting: boolean) {
  const logger = createLogger({ name: 'dispatch', level: 'error' });
  const nodeArgs = ['--disable-warning=ExperimentalWarning'];
  const authToken = randomBytes(16).toString('hex');
  const store = await startProcess<{ uri: string }>({
    ...{ script: scriptPath('document-store-process.ts'), nodeArgs },
    ...{ args: [join(directory, 'parley.db')], logFile: join(directory, 'store.log') },
  });
  owned.defer(() => store.stop());
  const seen: DialSeen[] = [];
  const carrier = await startProcess<BusyCarrierReady>({
    ...{ script: scriptPath('busy-carrier-process.ts'), nodeArgs },
    ...{ args: [authToken], logFile: join(directory, 'carrier.log') },
    onMessage: (message) => void seen.push(...(message as { dials: DialSeen[] }).dials),
  });
  owned.defer(() => carrier.stop());
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const env = {
    PUBLIC_URL: 'https://voice.example.com',
    ...{ PORT: '0', INTERNAL_PORT: '0', INTERNAL_TOKEN: randomBytes(24).toString('hex') },
    MONGODB_URI: counting ? `${store.ready.uri}&monitorCommands=true` : store.ready.uri,
    ENCRYPTION_KEYS: `load:${randomBytes(32).toString('base64')}`,
    JWT_PRIVATE_KEYS: JSON.stringify([{ ...privateKey.export({ format: 'jwk' }), kid: 'load' }]),
    STORAGE_DIR: join(directory, 'storage'),
    ...{ ADDRESS_REQUESTS_PER_MINUTE: '0', CONCURRENT_SESSIONS_PER_ORG: '0', SESSION_STARTS_PER_MINUTE: '0' },
    EMULATED_PROVIDERS: 'deepgram,openai,elevenlabs',
    PLIVO_BASE_URL: carrier.ready.url,
    MAX_CONCURRENT_API_OUTBOUND_DIALS: '1000',
  };
  /** A control plane with a bus of its own. @param pace null: it dials nobody */
  const open = async (pace: number | null, opened: DisposableList): Promise<ControlPlane> => {
    const bus = opened.add(await openLocalBus({ path: ':memory:', logger }));
    if (pace === null)
      for (const lease of ['dispatcher', 'campaign_feeder'])
        await bus.leases.acquire(lease, 'nobody', DAY_MS);
    const config = loadControlPlaneConfig({ ...env, OUTBOUND_CALLS_PER_SECOND: String(pace ?? 1) });
    const plane = opened.add(await openControlPlane(config, { bus, logger }));
    carrier.send({ platform: plane.url });
    return plane;
  };
  const orgs: Org[] = [];
  /** Processor time so far, in ms. This process is the control plane, but for a single call now and then. */
  const cpuNow = () => {
    const { user, system } = process.cpuUsage();
    const of = ({ pid }: { pid: number }) => (readUsage([pid])?.cpuSeconds ?? NaN) * 1000;
    return { controlPlane: (user + system) / 1000, store: of(store), carrier: of(carrier) };
  };

  return {
    /** Three orgs, and single calls of theirs, while nobody else is to be called. */
    async measureIdle(signal: AbortSignal): Promise<Ways> {
      const opened = new DisposableList();
      try {
        const plane = await open(IDLE.pace, opened);
        for (let i = 0; i < 3; i++) orgs.push(await makeOrg(plane, i, authToken));
        await sleep(WARM_UP_MS, signal);
        const ordered = new Map<string, number>();
        for (let i = 0; i < IDLE.calls; i++) {
          await startCall(plane, orgs[i % orgs.length]!, `+49301${String(i).padStart(7, '0')}`, ordered);
          await sleep(IDLE.everyMs, signal);
        }
        return waysOf(seen, ordered);
      } finally {
        await opened.dispose();
      }
    },

    /** Five campaigns of the three orgs, which run and whose contacts wait. */
    async seed(contacts: number): Promise<void> {
      const opened = new DisposableList();
      try {
        const plane = await open(null, opened);
        for (const [index, org] of CAMPAIGNS.entries())
          await seedCampaign(plane, orgs[org]!, { index, count: Math.floor(contacts / CAMPAIGNS.length) });
      } finally {
        await opened.dispose();
      }
    },

    async measure(pace: number, ms: number, signal: AbortSignal): Promise<Figures> {
      const opened = new DisposableList();
      try {
        const plane = await open(pace, opened);
        const operations = counting ? countOperations(plane) : {};
        await sleep(WARM_UP_MS, signal);
        const cpu = cpuNow();
        const counted = { ...operations };
        const from = Date.now();
        const ordered = new Map<string, number>();
        while (Date.now() - from < ms) {
          const to = `+49302${String(ordered.size + pace * 10_000).padStart(7, '0')}`;
          await startCall(plane, orgs[0]!, to, ordered);
          await sleep(SINGLE_EVERY_MS, signal);
        }
        const until = Date.now();
        const used = cpuNow();
        const done = { ...operations };
        await sleep(REPORT_MS, signal);
        const dials = seen.filter(({ at }) => at >= from && at < until);
        const campaigns = dials.filter(({ to }) => !ordered.has(to));
        const shares = orgs.map(
          ({ number }) => campaigns.filter((dial) => `+${dial.from}` === number).length,
        );
        const perSecond = (dials.length * 1000) / (until - from);
        const even = campaigns.length / orgs.length;
        return {
          pace,
          dials: dials.length,
          perSecond,
          off: (perSecond / pace - 1) * 100,
          unfair: Math.max(...shares.map((share) => (Math.abs(share - even) / even) * 100)),
          cpuMs: {
            controlPlane: (used.controlPlane - cpu.controlPlane) / dials.length,
            store: (used.store - cpu.store) / dials.length,
            carrier: (used.carrier - cpu.carrier) / dials.length,
          },
          singles: waysOf(dials, ordered),
          operations: Object.fromEntries(
            Object.entries(done)
              .map(([name, count]): [string, number] => [name, (count - (counted[name] ?? 0)) / dials.length])
              .sort(([, a], [, b]) => b - a),
          ),
        };
      } finally {
        await opened.dispose();
      }
    },
  };
}

async function makeOrg(plane: ControlPlane, index: number, authToken: string): Promise<Org> {
  const { services } = plane;
  const tenant = await bootstrapInstallation(services, { orgName: `Org ${index}` });
  const ids = { orgId: tenant.org._id, projectId: tenant.project._id };
  const scope = new Scope(services.database, { ...ids, projects: null, role: 'owner' });
  const account = await services.telephonyAccounts.create(scope, 'loadtest', '', {
    ...{ name: 'Line', provider: 'plivo', credentials: { auth_id: `MALOAD${index}`, auth_token: authToken } },
    ...{ allowed_countries: ['DE'], max_concurrent_calls: 2000, calls_per_second: 50 },
  });
  const { _id: accountId } = account;
  // The carrier here answers anything.
  await services.telephonyAccounts.verify(scope, account);
  const number = `+1415555200${index}`;
  const { _id: numberId } = await scope.collection(phoneNumberCollection).insert({
    ...{ _id: newId('phn'), telephony_account_id: accountId, provider: 'plivo', phone_number: number },
    ...{ active_number: number, country: 'US', type: 'local', label: '', origin: 'imported' },
    ...{ capabilities: ['voice'], status: 'active', released_at: null },
  });
  const path = `/v1/orgs/${ids.orgId}/projects/${ids.projectId}`;
  const authorization = `Bearer ${tenant.apiKey}`;
  const answer = await fetch(`${plane.url}${path}/agents`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Caller' }),
  });
  const { id: agentId } = (await answer.json()) as { id: string };
  return { path, authorization, number, numberId, agentId };
}

/** Starts a single call, as a client does, and notes when. */
async function startCall(
  plane: ControlPlane,
  { authorization, agentId, numberId }: Org,
  to: string,
  ordered: Map<string, number>,
): Promise<void> {
  ordered.set(to.slice(1), Date.now());
  const answer = await fetch(`${plane.url}/v1/campaigns/start-call`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ agent_id: agentId, phone_number_id: numberId, to_number: to }),
  });
  if (answer.status !== 202) throw new Error(`start-call: ${answer.status} ${await answer.text()}`);
  await answer.body?.cancel();
}

function waysOf(dials: readonly DialSeen[], ordered: ReadonlyMap<string, number>): Ways {
  const ways = dials
    .flatMap(({ to, at }) => (ordered.has(to) ? [at - ordered.get(to)!] : []))
    .sort((a, b) => a - b);
  const at = (share: number) => ways[Math.floor(ways.length * share)] ?? NaN;
  return { calls: ways.length, p50: at(0.5), p95: at(0.95) };
}

/** A campaign that runs. Its contacts are put into the store, which takes a fraction of the time that importing takes. */
async function seedCampaign(
  plane: ControlPlane,
  { path, authorization, agentId, numberId }: Org,
  { index, count }: { index: number; count: number },
): Promise<void> {
  const post = async (url: string, body: object) => {
    const headers = { authorization, 'content-type': 'application/json' };
    const answer = await fetch(`${plane.url}${url}`, { method: 'POST', headers, body: JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as { id: string };
  };
  const { id: campaign_id } = await post(`${path}/campaigns`, {
    ...{ name: `Campaign ${index}`, agent_id: agentId, phone_number_ids: [numberId] },
    // Only the pace of the installation is to hold calls up.
    ...{ max_concurrent: 500, calls_per_second: 20, retry: { max_attempts: 1 } },
  });
  const { database } = plane.services;
  const campaigns = database.model(campaignCollection);
  const { org_id, project_id } = (await campaigns.findOne({ _id: campaign_id }).lean())!;
  const contacts = database.model(contactCollection).collection;
  const due_at = new Date();
  for (let made = 0; made < count; made += SEED_BATCH) {
    const batch = Array.from({ length: Math.min(SEED_BATCH, count - made) }, (_, i) => {
      const phone_number = `+4940${index}${String(made + i).padStart(7, '0')}`;
      return {
        ...{ _id: newId('cct'), org_id, project_id, campaign_id, phone_number, unique_number: phone_number },
        ...{ name: null, external_id: null, timezone: null, variables: {}, status: 'pending' },
        ...{ outcome: null, skip_reason: null, attempts_made: 0, next_attempt_at: null, goal_status: null },
        ...{ last_session_id: null, due_at, deferred: false, round_attempts: 0, queued_at: null },
        ...{ answered_count: 0, voicemail_count: 0, revision: 1, removed: false },
        counted: { status: 'pending', attempts: 0, answered: 0, voicemail: 0 },
        ...{ counted_batch: 0, uncounted: false, created_at: due_at, updated_at: due_at },
      };
    });
    await contacts.insertMany(batch as never[]);
  }
  const counters = { 'counters.total': count, 'counters.pending': count };
  await campaigns.updateOne({ _id: campaign_id }, { $set: counters });
  await post(`/v1/campaigns/${campaign_id}/start`, {});
}

/** @returns how often the store is asked from now on, by command and collection */
function countOperations(plane: ControlPlane): Record<string, number> {
  const counts: Record<string, number> = {};
  const client = plane.services.database.model(campaignCollection).db.getClient();
  client.on('commandStarted', ({ commandName, command }: { commandName: string; command: object }) => {
    const of = (command as Record<string, unknown>)[commandName];
    const name = typeof of === 'string' ? `${commandName} ${of}` : commandName;
    counts[name] = (counts[name] ?? 0) + 1;
  });
  return counts;
}

function report(contacts: number, { idle, figures }: { idle: Ways; figures: readonly Figures[] }): string {
  const rows = figures.map(({ cpuMs, ...one }) => [
    `${one.pace}/s`,
    `${one.perSecond.toFixed(2)}/s (${one.off.toFixed(1)} %)`,
    `${one.unfair.toFixed(1)} %`,
    ...[cpuMs.controlPlane, cpuMs.store, cpuMs.carrier].map((ms) => `${ms.toFixed(1)} ms`),
    `${one.singles.p50} ms`,
    `${one.singles.p95} ms`,
  ]);
  const cpu = ['CPU a dial: control plane', 'store', 'carrier'];
  const head = ['pace', 'dialled', 'off an even share', ...cpu, 'start to carrier p50', 'p95'];
  const operations = figures.flatMap(({ pace, operations: asked }) => {
    const all = Object.entries(asked);
    if (all.length === 0) return [];
    const sum = all.reduce((total, [, count]) => total + count, 0);
    const most = all.filter(([, count]) => count >= 0.05).map(([name, n]) => [n.toFixed(2), name]);
    return [`${sum.toFixed(1)} operations of the store a dial at ${pace}/s\n\n${table(most)}\n`];
  });
  const title = `${contacts} contacts wait in five campaigns of three orgs; ${machine()}`;
  const alone = `On an idle line, ${idle.calls} single calls: start to carrier p50 ${idle.p50} ms, p95 ${idle.p95} ms`;
  return [title, alone, `${table([head, ...rows])}\n`, ...operations].join('\n\n');
}

await runCommand(main);
