import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import { DisposableList } from '@parley/shared/async/disposable-list';
import { runCommand } from './command.ts';
import { makeTemporary } from './make-temporary.ts';
import { machine } from './report/html.ts';
import { table } from './report/terminal.ts';
import { startControlPlane } from './sut/control-plane.ts';
import { canPin, pinSelf, startProcess } from './sut/start-process.ts';

const USAGE = `Usage: npm run loadtest:rest -- [--seconds 8] [--connections 20] [--sessions 100000] [--rounds 3] [--json]

Requests a second that one control plane over its embedded store answers, beside a bare Koa route that answers the same
JSON in the same run. The server has core 0, the client core 1.
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
  /** Requests of the bare route for one of these. */
  ratio: number;
  failed: number;
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
    const controlPlane = owned.add(await startControlPlane({ directory, cpus }));
    const project = `/v1/orgs/${controlPlane.orgId}/projects/${controlPlane.projectId}`;
    const agent = await controlPlane.ask<{ id: string }>('POST', `${project}/agents`, {
      name: 'Benchmark',
      system_prompt: 'You answer questions.',
      greeting: 'Hello.',
    });
    const newSession = { agent_id: agent.id, channel: 'telephony', provider: 'plivo' };

    async function measure(url: string, one: Case): Promise<autocannon.Result> {
      signal.throwIfAborted();
      return new Promise((resolve, reject) => {
        const stop = () => run.stop();
        const run = autocannon(
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
        const ours: autocannon.Result[] = [];
        const theirs: autocannon.Result[] = [];
        for (let round = 0; round < Number(values.rounds); round++) {
          process.stderr.write(`${one.name}, round ${round + 1}\n`);
          ours.push(await measure(controlPlane.url, one));
          theirs.push(await measure(bare.ready.url, one));
        }
        const perSecond = median(ours.map((result) => result.requests.average));
        const bareKoaPerSecond = median(theirs.map((result) => result.requests.average));
        return {
          name: one.name,
          perSecond: Math.round(perSecond * 10) / 10,
          p50: median(ours.map((result) => result.latency.p50)),
          p99: median(ours.map((result) => result.latency.p99)),
          bareKoaPerSecond: Math.round(bareKoaPerSecond),
          ratio: Math.round((bareKoaPerSecond / Math.max(0.01, perSecond)) * 10) / 10,
          failed: ours.reduce((sum, result) => sum + result.non2xx + result.errors, 0),
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
        ['', 'requests/s', 'p50 ms', 'p99 ms', 'bare Koa/s', 'ratio', 'failed'],
        ...figures.map((one) => [
          one.name,
          ...[one.perSecond, one.p50, one.p99, one.bareKoaPerSecond, one.ratio, one.failed].map(String),
        ]),
      ])}\n`,
    );
    if (values.json) process.stdout.write(`${JSON.stringify({ machine: machine(), figures })}\n`);
  } finally {
    await owned.dispose();
  }
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)]!;
}

await runCommand(main);
