import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openControlPlane, type ControlPlane } from '@parley/control-plane/app';
import { bootstrapInstallation } from '@parley/control-plane/bootstrap';
import { loadControlPlaneConfig } from '@parley/control-plane/config';
import type { OutboundOrder } from '@parley/control-plane/dialling/outbound-calls';
import { sessionCollection } from '@parley/control-plane/sessions/session-model';
import { phoneNumberCollection } from '@parley/control-plane/telephony/phone-number-model';
import { Scope } from '@parley/control-plane/tenancy/scope';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { sleep } from '@parley/shared/async/timeout';
import { openLocalBus } from '@parley/shared/bus/local-bus';
import { newId, uuidV7 } from '@parley/shared/ids/new-id';
import { createLogger } from '@parley/shared/logging/logger';
import { runCommand } from './command.ts';
import { makeTemporary } from './make-temporary.ts';
import { machine } from './report/html.ts';
import { table } from './report/terminal.ts';
import type { BusyCarrierReady, DialSeen } from './sut/busy-carrier-process.ts';
import { startProcess } from './sut/start-process.ts';

const USAGE = `Usage: npm run loadtest:dispatch -- [--contacts 100000] [--paces 5,20,50] [--seconds 60] [--json]

How outbound calls are dispatched: contacts of five campaigns of three orgs wait, and one control plane dials them at
the pace of the installation. Each pace is kept for so long; single calls come in between, whose way from the order to the
carrier is timed. The carrier and the document store are processes of their own.
`;

const DAY_MS = 86_400_000;
const SEED_BATCH = 1000;
const SINGLE_EVERY_MS = 2000;
/** Until a control plane dials as it does later. */
const WARM_UP_MS = 3000;
/** Until the carrier has told of the last dials. */
const REPORT_MS = 500;
const TO = '+4930123456';
/** Campaigns, by the org that has them. */
const CAMPAIGNS = [0, 0, 0, 1, 2];
const scriptPath = (name: string) => fileURLToPath(new URL(`./sut/${name}`, import.meta.url));

interface Org {
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
  cpuMs: number;
  singleP50: number;
  singleP95: number;
}

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      contacts: { type: 'string', default: '100000' },
      paces: { type: 'string', default: '5,20,50' },
      seconds: { type: 'string', default: '60' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const owned = new DisposableList();
  try {
    const bench = await openBench(owned, await makeTemporary(owned, 'dispatch'));
    await bench.seed(Number(values.contacts));
    const figures: Figures[] = [];
    for (const pace of values.paces.split(',').map(Number))
      figures.push(await bench.measure(pace, Number(values.seconds) * 1000, signal));
    process.stdout.write(
      values.json ? `${JSON.stringify(figures)}\n` : report(Number(values.contacts), figures),
    );
  } finally {
    await owned.dispose();
  }
}

async function openBench(owned: DisposableList, directory: string) {
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
    MONGODB_URI: store.ready.uri,
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
    if (pace === null) await bus.leases.acquire('dispatcher', 'nobody', DAY_MS);
    const config = loadControlPlaneConfig({ ...env, OUTBOUND_CALLS_PER_SECOND: String(pace ?? 1) });
    const plane = opened.add(await openControlPlane(config, { bus, logger }));
    carrier.send({ platform: plane.url });
    return plane;
  };
  const orgs: Org[] = [];

  return {
    /** Three orgs, and contacts of their five campaigns whose calls wait. */
    async seed(contacts: number): Promise<void> {
      const opened = new DisposableList();
      try {
        const plane = await open(null, opened);
        for (let i = 0; i < 3; i++) orgs.push(await makeOrg(plane, i, authToken));
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
        await sleep(WARM_UP_MS, signal);
        const cpu = process.cpuUsage();
        const from = Date.now();
        const ordered = new Map<string, number>();
        while (Date.now() - from < ms) {
          const to = `+4930${String(ordered.size + pace * 10_000).padStart(8, '0')}`;
          ordered.set(to.slice(1), Date.now());
          await plane.services.outboundCalls.queue(await orderOf(plane, orgs[0]!, { to }));
          await sleep(SINGLE_EVERY_MS, signal);
        }
        const until = Date.now();
        const used = process.cpuUsage(cpu);
        await sleep(REPORT_MS, signal);
        const dials = seen.filter(({ at }) => at >= from && at < until);
        const campaigns = dials.filter(({ to }) => !ordered.has(to));
        const shares = orgs.map(
          ({ number }) => campaigns.filter((dial) => `+${dial.from}` === number).length,
        );
        const ways = dials
          .flatMap(({ to, at }) => (ordered.has(to) ? [at - ordered.get(to)!] : []))
          .sort((a, b) => a - b);
        const perSecond = (dials.length * 1000) / (until - from);
        const even = campaigns.length / orgs.length;
        return {
          pace,
          dials: dials.length,
          perSecond,
          off: (perSecond / pace - 1) * 100,
          unfair: Math.max(...shares.map((share) => (Math.abs(share - even) / even) * 100)),
          cpuMs: (used.user + used.system) / 1000 / dials.length,
          singleP50: ways[Math.floor(ways.length / 2)] ?? NaN,
          singleP95: ways[Math.floor(ways.length * 0.95)] ?? NaN,
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
  const answer = await fetch(`${plane.url}/v1/orgs/${ids.orgId}/projects/${ids.projectId}/agents`, {
    method: 'POST',
    headers: { authorization: `Bearer ${tenant.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Caller' }),
  });
  const { id: agentId } = (await answer.json()) as { id: string };
  return { number, numberId, agentId };
}

async function orderOf(
  { services }: ControlPlane,
  { agentId, numberId }: Org,
  order: Partial<OutboundOrder>,
): Promise<OutboundOrder> {
  const agent = (await services.storedAgents.forNewSession(agentId, null))!;
  return {
    ...{ scope: { orgId: agent.org_id, projectId: agent.project_id }, agent, kind: 'single', to: TO },
    ...{ numberIds: [numberId], variables: {}, overrides: null, analysisIds: null, campaignId: null },
    ...{ contactId: null, attemptNumber: 1, contactTimezone: null, callingHours: null, notBefore: null },
    ...{ source: 'api' },
    ...order,
  };
}

/** Calls that wait, modelled on one that was ordered. */
async function seedCampaign(
  plane: ControlPlane,
  org: Org,
  { index, count }: { index: number; count: number },
): Promise<void> {
  const sessions = plane.services.database.model(sessionCollection);
  const campaign = { kind: 'campaign', source: 'campaign', campaignId: newId('cmp') } as const;
  const later = new Date(Date.now() + DAY_MS);
  const first = await plane.services.outboundCalls.queue(
    await orderOf(plane, org, { ...campaign, notBefore: later }),
  );
  const model = (await sessions.findOne({ _id: first._id }).lean())!;
  for (let made = 0; made < count; made += SEED_BATCH) {
    const now = new Date();
    const batch = Array.from({ length: Math.min(SEED_BATCH, count - made) }, (_, i) => {
      const to = `+4940${index}${String(made + i).padStart(7, '0')}`;
      const dial = { ...model.dial!, not_before: now, queued_at: now };
      return { ...model, _id: uuidV7(), to_number: to, numbers: [model.from_number!, to], dial };
    });
    await sessions.collection.insertMany(batch as never[]);
  }
}

function report(contacts: number, figures: readonly Figures[]): string {
  const rows = figures.map((one) => [
    `${one.pace}/s`,
    `${one.perSecond.toFixed(2)}/s (${one.off.toFixed(1)} %)`,
    `${one.unfair.toFixed(1)} %`,
    `${one.cpuMs.toFixed(1)} ms`,
    `${one.singleP50} ms`,
    `${one.singleP95} ms`,
  ]);
  const head = ['pace', 'dialled', 'off an even share', 'CPU a dial', 'start to carrier p50', 'p95'];
  return `${contacts} calls wait in five campaigns of three orgs; ${machine()}\n\n${table([head, ...rows])}\n`;
}

await runCommand(main);
