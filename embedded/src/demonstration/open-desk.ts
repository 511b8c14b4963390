import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { request } from 'undici';
import type { DisposableList } from '@parley/shared/async/disposable-list';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { http1Agent } from '@parley/shared/http/http1';
import { createLogger } from '@parley/shared/logging/logger';
import { readRuntime } from '../data-folder.ts';
import { loadSecrets } from '../secrets.ts';
import { callOutcomeSchema, type CallOrder, type CallOutcome, type PlacedCall } from './call-order.ts';
import { RestClient } from './rest-client.ts';

const ORDER_TIMEOUT_MS = 30_000;
/** A call is waited for at most so long. */
const OUTCOME_TIMEOUT_MS = 30 * 60_000;

/** Where calls can be placed: a platform that runs, or one of our own. */
export interface Desk {
  /** The demonstration's agent. */
  agentId: string;
  rest: RestClient;
  orgId: string;
  projectId: string;
  numbers: Partial<Record<CarrierName, string>>;
  place(order: CallOrder): Promise<PlacedCall & { outcome: Promise<CallOutcome> }>;
  /** @returns where a recording can be found after this process. @param key below the data folder */
  recording(key: string): Promise<string>;
}

/**
 * The platform that runs with this folder, or one of our own with temporary data.
 * @param env for one of our own, on top of the process's
 */
export async function openDesk(
  owned: DisposableList,
  dataDir: string,
  env: Record<string, string> = {},
): Promise<Desk> {
  const runtime = readRuntime(dataDir);
  if (runtime) {
    const secrets = loadSecrets(path.join(dataDir, 'secrets.json'));
    const headers = { authorization: `Bearer ${secrets.internal_token}`, 'content-type': 'application/json' };
    return {
      rest: new RestClient(runtime.local_url, secrets.demonstration_key ?? ''),
      agentId: runtime.agent_id,
      orgId: runtime.org_id,
      projectId: runtime.project_id,
      numbers: runtime.numbers,
      recording: async (key) => path.join(dataDir, key),
      async place(order) {
        const placed = (await ask(
          `${runtime.desk_url}/calls`,
          { method: 'POST', headers, body: JSON.stringify(order) },
          ORDER_TIMEOUT_MS,
        )) as PlacedCall;
        const outcome = ask(
          `${runtime.desk_url}/calls/${placed.call_id}`,
          { method: 'GET', headers },
          OUTCOME_TIMEOUT_MS,
        ).then((body) => callOutcomeSchema.parse(body));
        return { ...placed, outcome };
      },
    };
  }
  process.stderr.write('No platform is running here: starting one with temporary data.\n');
  const temporary = await mkdtemp(path.join(tmpdir(), 'parley-'));
  owned.defer(() => rm(temporary, { recursive: true, force: true }));
  // A second's work, and only needed here.
  const { openDemonstrationPlatform } = await import('./demonstration-platform.ts');
  const running = owned.add(
    await openDemonstrationPlatform({
      env: { ...env, ...process.env, PORT: '0' },
      dataDir: temporary,
      logger: createLogger({ name: 'parley', level: process.env['LOG_LEVEL'] ?? 'warn' }),
    }),
  );
  const { demonstration, desk } = running;
  return {
    rest: demonstration.rest,
    agentId: demonstration.agentId,
    orgId: demonstration.orgId,
    projectId: demonstration.projectId,
    numbers: Object.fromEntries(
      Object.entries(demonstration.lines).map(([carrier, line]) => [carrier, line.number]),
    ),
    async recording(key) {
      const kept = path.join(tmpdir(), `parley-${path.basename(key)}`);
      await copyFile(path.join(temporary, key), kept);
      return kept;
    },
    place: (order) => desk.place(order),
  };
}

async function ask(
  url: string,
  options: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string },
  timeoutMs: number,
): Promise<unknown> {
  const response = await request(url, {
    ...options,
    dispatcher: http1Agent,
    headersTimeout: timeoutMs,
    bodyTimeout: timeoutMs,
  });
  const body = (await response.body.json()) as { error?: string };
  if (response.statusCode >= 300)
    throw new Error(body.error ?? `The platform answered ${response.statusCode}.`);
  return body;
}
