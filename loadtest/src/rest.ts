import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { hasRedis, startRedis } from './backend/start-redis.ts';
import { runCommand } from './command.ts';
import { makeTemporary } from './make-temporary.ts';
import { median } from './measure/median.ts';
import { readUsage } from './measure/process-usage.ts';
import { machine } from './report/html.ts';
import { table } from './report/terminal.ts';
import { startControlPlane } from './sut/control-plane.ts';
import { canPin, pinSelf, startProcess } from './sut/start-process.ts';

const USAGE = `Usage: npm run loadtest:rest -- [--seconds 8] [--connections 20] [--sessions 100000] [--rounds 3] [--json]

Requests a second that one control plane answers, and the processor time each takes of it and of its store, beside a
bare Koa route that answers the same JSON in the same run. The control plane has core 0; the document store, in a process
of its own, and Redis, if it is installed, share core 1 with the client.
`;

interface Case {
  name: string;
  method: 'GET' | 'POST';
  path: string;
  body?: object;
}

interface Figures {
  name: string;
  perSecond: number;
  p50: number;
  p99: number;
  bareKoaPerSecond: number;
  /** Of the bare route's requests a second. */
  share: number;
  failed: number;
  /** Processor time of one request: of the control plane, of its store, of the bare route. */
  cpuMs: number;
  storeCpuMs: number;
  bareKoaCpuMs: number;
}

interface Round {
  result: autocannon.Result;
  /** Processor time a request, of each process that was asked for. */
  cpuMs: number[];
}

async function main(signal: AbortSignal): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '8' },
      connections: { type: 'string', default: '20' },
      sessions: { type: 'string', default: '100000' },
      rounds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return void process.stdout.write(USAGE);
  const seconds = Number(values.seconds);
  const connections = Number(values.connections);
  const cpus = canPin ? '0' : undefined;
  pinSelf('1');
  const owned = new DisposableList();
  try {
    const directory = await makeTemporary(owned, 'parley-rest-');
    const redis = hasRedis ? owned.add(await startRedis(directory)) : undefined;
    const store = await startProcess<{ uri: string }>({
      script: fileURLToPath(new URL('sut/document-store-process.ts', import.meta.url)),
      args: [join(directory, 'parley.db')],
      nodeArgs: ['--disable-warning=ExperimentalWarning'],
      env: { NODE_ENV: 'production' },
      cpus: canPin ? '1' : undefined,
      logFile: join(directory, 'document-store.log'),
    });
    owned.defer(() => store.stop());
    const controlPlane = owned.add(
      await startControlPlane({
        directory,
        cpus,
        env: { MONGODB_URI: store.ready.uri, ...(redis && { REDIS_URL: redis.url }) },
      }),
    );
    const project = `/v1/orgs/${controlPlane.orgId}/projects/${controlPlane.projectId}`;
    const agent = await controlPlane.ask<{ id: string }>('POST', `${project}/agents`, {
      name: 'Benchmark',
      system_prompt: 'You answer questions.',
      greeting: 'Hello.',
    });
    const newSession = { agent_id: agent.id, channel: 'telephony', provider: 'plivo' };

    async function measure(url: string, one: Case, pids: readonly number[]): Promise<Round> {
      signal.throwIfAborted();
      const before = pids.map(cpuSeconds);
      const result = await run(url, one);
      const cpuMs = pids.map((pid, i) => ((cpuSeconds(pid) - before[i]!) * 1000) / result.requests.total);
      return { result, cpuMs };
    }

    function run(url: string, one: Case): Promise<autocannon.Result> {
      return new Promise((resolve, reject) => {
        const stop = () => client.stop();
        const client = autocannon(
          {
            url: `${url}${one.path}`,
            method: one.method,
            connections,
            duration: seconds,
            headers: {
              authorization: `Bearer ${controlPlane.apiKey}`,
              ...(one.body === undefined ? {} : { 'content-type': 'application/json' }),
            },
            ...(one.body === undefined ? {} : { body: JSON.stringify(one.body) }),
          },
          (error: Error | null, result) => {
            signal.removeEventListener('abort', stop);
            if (error) reject(error);
            else resolve(result);
          },
        );
        signal.addEventListener('abort', stop);
      });
    }

    /** Rounds of the two in turn, so that what else the machine does meets both. */
    async function compare(one: Case): Promise<Figures> {
      const answer = await controlPlane.ask<object>(one.method, one.path, one.body);
      const bare = await startProcess<{ url: string }>({
        script: fileURLToPath(new URL('sut/bare-koa.ts', import.meta.url)),
        args: [JSON.stringify(answer)],
        nodeArgs: ['--disable-warning=ExperimentalWarning'],
        env: { NODE_ENV: 'production' },
        cpus,
        logFile: join(directory, 'bare-koa.log'),
      });
      try {
        const ours: Round[] = [];
        const theirs: Round[] = [];
        for (let round = 0; round < Number(values.rounds); round++) {
          process.stderr.write(`${one.name}, round ${round + 1}\n`);
          ours.push(await measure(controlPlane.url, one, [controlPlane.pid, store.pid]));
          theirs.push(await measure(bare.ready.url, one, [bare.pid]));
        }
        const perSecond = median(ours.map(({ result }) => result.requests.average))!;
        const bareKoaPerSecond = median(theirs.map(({ result }) => result.requests.average))!;
        return {
          name: one.name,
          perSecond: Math.round(perSecond * 10) / 10,
          p50: median(ours.map(({ result }) => result.latency.p50))!,
          p99: median(ours.map(({ result }) => result.latency.p99))!,
          bareKoaPerSecond: Math.round(bareKoaPerSecond),
          share: perSecond / bareKoaPerSecond,
          cpuMs: median(ours.map(({ cpuMs }) => cpuMs[0]!))!,
          storeCpuMs: median(ours.map(({ cpuMs }) => cpuMs[1]!))!,
          bareKoaCpuMs: median(theirs.map(({ cpuMs }) => cpuMs[0]!))!,
          failed: ours.reduce((sum, { result }) => sum + result.non2xx + result.errors, 0),
        };
      } finally {
        await bare.stop();
      }
    }

    const list = { method: 'GET' as const, path: `${project}/sessions?limit=20` };
    const figures: Figures[] = [];
    for (let made = 0; made < 10; made++) await controlPlane.ask('POST', '/v1/sessions', newSession);
    figures.push(await compare({ name: 'session list, 10 stored', ...list }));
    figures.push(await compare({ name: 'agent read', method: 'GET', path: `/v1/agents/${agent.id}` }));
    figures.push(
      await compare({ name: 'session create', method: 'POST', path: '/v1/sessions', body: newSession }),
    );
    process.stderr.write(`Storing ${values.sessions} sessions...\n`);
    await controlPlane.seedSessions(Number(values.sessions));
    figures.push(await compare({ name: `session list, ${values.sessions} stored`, ...list }));
    figures.push(
      await compare({
        name: `session create, ${values.sessions} stored`,
        method: 'POST',
        path: '/v1/sessions',
        body: newSession,
      }),
    );
    process.stdout.write(
      `${machine()}\n\n${table([
        ['', 'requests/s', 'p50 ms', 'p99 ms', 'bare Koa/s', 'of it', 'CPU ms', 'store', 'bare', 'failed'],
        ...figures.map((one) => [
          one.name,
          ...[one.perSecond, one.p50, one.p99, one.bareKoaPerSecond].map(String),
          one.share.toFixed(3),
          ...[one.cpuMs, one.storeCpuMs, one.bareKoaCpuMs].map((ms) => ms.toFixed(2)),
          String(one.failed),
        ]),
      ])}\n`,
    );
    if (values.json) process.stdout.write(`${JSON.stringify({ machine: machine(), figures })}\n`);
  } finally {
    await owned.dispose();
  }
}

/** Of a process and its threads so far; NaN where the system does not tell. */
function cpuSeconds(pid: number): number {
  return readUsage([pid])?.cpuSeconds ?? NaN;
}

await runCommand(main);
