import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { withTimeout } from '@parley/shared/async/timeout';
import type { Bus } from '@parley/shared/bus/bus';
import { DEAD_LETTERS_COMMAND } from '../jobs/dead-letters.ts';
import type { Database } from '../storage/database.ts';
import { isDiskFull } from '../storage/unreachable.ts';
import { errorBody } from './openapi.ts';
import { defineOperation, HttpResponse } from './operation.ts';
import type { Operation, OperationAccess } from './operation.ts';

const CHECK_TIMEOUT_MS = 2000;
/** How long the results of one round of checks are reused: checks write, and anybody may ask. */
const RESULT_LIFETIME_MS = 1000;
/** Size of the file that a check writes: enough to require a block on the disk. */
const WRITE_CHECK_BYTES = 4096;

/** Checks whose failure does not make the service unready. */
const INFORMATIONAL = ['media', 'dead_letters'];

/** An error whose message tells the operator what to do: the message is shown. */
class AdviceError extends Error {}

const liveness = z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' });
const readiness = z
  .object({
    status: z.enum(['ok', 'draining', 'unavailable']),
    checks: z.array(
      z.object({
        name: z.string(),
        ok: z.boolean(),
        ms: z.number().int(),
        /** What the operator must do about the failure. */
        detail: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'Readiness' });

type CheckResult = z.infer<typeof readiness>['checks'][number];

/**
 * Liveness and readiness, outside `/v1` without a credential and under `/v1` with one. Readiness depends on database,
 * queue and storage, the first and the last of which must also take a write; `media` (a gateway is there) and
 * `dead_letters` (no call event was given up) are told but no reason to take the API away.
 */
export function healthRoutes(deps: {
  database: Database;
  bus: Bus;
  storageDir: string;
  draining: () => boolean;
}): Operation[] {
  const { database, bus, storageDir, draining } = deps;
  const checks: Record<string, () => Promise<unknown>> = {
    database: () => database.checkWrites(),
    queue: () => bus.ping(),
    storage: () => checkWrites(storageDir),
    media: async () => {
      const gateways = await bus.presence.gateways();
      if (!gateways.some((gateway) => !gateway.draining)) throw new Error('No media gateway is running.');
    },
    dead_letters: async () => {
      const count = await bus.events.deadLetters.count();
      if (count > 0)
        throw new AdviceError(`${count} call events could not be processed. Run: ${DEAD_LETTERS_COMMAND}`);
    },
  };

  async function check(name: string, work: () => Promise<unknown>): Promise<CheckResult> {
    const started = performance.now();
    const result = await withTimeout(work(), CHECK_TIMEOUT_MS, name).then(
      () => ({ ok: true }),
      (error: unknown) => ({ ok: false, ...adviceOn(error) }),
    );
    return { name, ...result, ms: Math.round(performance.now() - started) };
  }

  let latest: { at: number; results: Promise<CheckResult[]> } | undefined;
  function checkAll(): Promise<CheckResult[]> {
    const now = performance.now();
    if (!latest || now - latest.at > RESULT_LIFETIME_MS)
      latest = {
        at: now,
        results: Promise.all(Object.entries(checks).map(([name, work]) => check(name, work))),
      };
    return latest.results;
  }

  async function ready(): Promise<HttpResponse<z.infer<typeof readiness>>> {
    const results = await checkAll();
    const usable = results.every((result) => result.ok || INFORMATIONAL.includes(result.name));
    const status = draining() ? 'draining' : usable ? 'ok' : 'unavailable';
    return status === 'ok'
      ? new HttpResponse(200, { status, checks: results })
      : new HttpResponse(503, { status, checks: results }, { 'Retry-After': '5' });
  }

  return (['', '/v1'] as const).flatMap((prefix) => {
    const common: { tag: string; access: OperationAccess; rateLimited: boolean } = {
      tag: 'Health',
      access: prefix === '' ? 'public' : { key: 'viewer', user: 'any' },
      rateLimited: prefix !== '',
    };
    const suffix = prefix === '' ? '' : 'V1';
    return [
      defineOperation({
        ...common,
        id: `getLiveness${suffix}`,
        method: 'GET',
        path: `${prefix}/health/live`,
        summary: 'Check liveness',
        responses: { 200: { description: 'The process runs', schema: liveness } },
        handle: () => ({ status: 'ok' as const }),
      }),
      defineOperation({
        ...common,
        id: `getReadiness${suffix}`,
        method: 'GET',
        path: `${prefix}/health/ready`,
        summary: 'Check readiness',
        responses: {
          200: { description: 'Requests can be served', schema: readiness },
          503: {
            description: 'Requests cannot be served; `checks` says why',
            // Without the database a credential may not be known either.
            schema: prefix === '' ? readiness : z.union([readiness, errorBody]),
          },
        },
        handle: () => ready(),
      }),
    ];
  });
}

async function checkWrites(directory: string): Promise<void> {
  const file = path.join(directory, '.write-check');
  try {
    await writeFile(file, Buffer.alloc(WRITE_CHECK_BYTES), { mode: 0o600 });
  } finally {
    await rm(file, { force: true });
  }
}

function adviceOn(error: unknown): { detail?: string } {
  if (isDiskFull(error))
    return { detail: 'The disk is full. Free some space; the service then recovers by itself.' };
  return error instanceof AdviceError ? { detail: error.message } : {};
}
