import { access, constants } from 'node:fs/promises';
import { z } from 'zod';
import { withTimeout } from '@parley/shared/async/timeout';
import type { Bus } from '@parley/shared/bus/bus';
import { DEAD_LETTERS_COMMAND } from '../jobs/dead-letters.ts';
import type { Database } from '../storage/database.ts';
import { defineOperation, Reply } from './operation.ts';
import type { Operation, OperationAccess } from './operation.ts';

const CHECK_TIMEOUT_MS = 2000;

/** Checks whose failure leaves the API where it is. */
const TOLD_ONLY = ['media', 'dead_letters'];

/** Says what a person has to do: its message is shown. */
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
        /** What a person has to do about it. */
        detail: z.string().optional(),
      }),
    ),
  })
  .meta({ id: 'Readiness' });

/**
 * Liveness and readiness, outside `/v1` without a credential and under `/v1` with one. Readiness depends on database,
 * queue and storage; `media` (a gateway is there) and `dead_letters` (no call event was given up) are told but no reason
 * to take the API away.
 */
export function healthRoutes(deps: {
  database: Database;
  bus: Bus;
  storageDir: string;
  draining: () => boolean;
}): Operation[] {
  const { database, bus, storageDir, draining } = deps;
  const checks: Record<string, () => Promise<unknown>> = {
    database: () => database.ping(),
    queue: () => bus.ping(),
    storage: () => access(storageDir, constants.R_OK | constants.W_OK),
    media: async () => {
      const gateways = await bus.presence.gateways();
      if (!gateways.some((gateway) => !gateway.draining)) throw new Error('no gateway');
    },
    dead_letters: async () => {
      const count = await bus.events.deadLetters.count();
      if (count > 0) throw new AdviceError(`${count} call events were given up: ${DEAD_LETTERS_COMMAND}`);
    },
  };

  async function ready(): Promise<Reply<z.infer<typeof readiness>>> {
    const results = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => {
        const started = performance.now();
        const result = await withTimeout(check(), CHECK_TIMEOUT_MS, name).then(
          () => ({ ok: true }),
          (error: unknown) => ({ ok: false, ...(error instanceof AdviceError && { detail: error.message }) }),
        );
        return { name, ...result, ms: Math.round(performance.now() - started) };
      }),
    );
    const usable = results.every((result) => result.ok || TOLD_ONLY.includes(result.name));
    const status = draining() ? 'draining' : usable ? 'ok' : 'unavailable';
    return status === 'ok'
      ? new Reply(200, { status, checks: results })
      : new Reply(503, { status, checks: results }, { 'Retry-After': '5' });
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
        summary: 'Whether the process runs',
        responses: { 200: { description: 'It does', schema: liveness } },
        handle: () => ({ status: 'ok' as const }),
      }),
      defineOperation({
        ...common,
        id: `getReadiness${suffix}`,
        method: 'GET',
        path: `${prefix}/health/ready`,
        summary: 'Whether requests can be served',
        responses: {
          200: { description: 'They can', schema: readiness },
          503: { description: 'Not now', schema: readiness },
        },
        handle: () => ready(),
      }),
    ];
  });
}
