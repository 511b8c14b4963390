import type { Refusal } from '@parley/shared/bus/bus';
import type { SessionRecord } from '../sessions/session-record.ts';

/** A slot is usually given back sooner than it ends, which is told; this long after it is looked for all the same. */
const SLOT_SLEEP_MS = 1000;

/** What a call shares with others, by the names that limits on them have. */
export function scopesOf({ org_id, project_id, agent_id, campaign_id, dial }: SessionRecord): string[] {
  const accountId = dial?.account_id ?? null;
  return [
    SERVER_SCOPE,
    ...(dial?.source === 'api' || dial?.source === 'webhook' ? [API_DIALS] : []),
    `org:${org_id}`,
    `project:${project_id}`,
    ...(agent_id === null ? [] : [`agent:${agent_id}`]),
    ...(campaign_id === null ? [] : [`campaign:${campaign_id}`]),
    ...(dial ? [`account:${dial.account_id}`] : []),
    // Limits of the org's own, on each of its parts, and on what each of them dials by the account.
    ...[org_id, project_id, ...(agent_id === null ? [] : [agent_id])].flatMap((whose) => [
      `limit:${whose}`,
      ...(accountId === null ? [] : [`limit:${whose}:${accountId}`]),
    ]),
  ];
}

/** All calls of the installation. */
export const SERVER_SCOPE = 'server';
/** Calls that clients asked for, until somebody answers. */
export const API_DIALS = 'api_dials';

/** Limits that have just refused a call, and until when nothing that they hold for is tried. */
export class SleepingScopes {
  readonly #until = new Map<string, { ms: number; kind: Refusal['kind'] }>();

  sleep({ by, kind, inMs }: Refusal, nowMs: number): void {
    const ms =
      nowMs + (kind === 'pace' ? (inMs ?? SLOT_SLEEP_MS) : Math.min(inMs ?? SLOT_SLEEP_MS, SLOT_SLEEP_MS));
    this.#until.set(by, { ms, kind });
  }

  /** A slot was given back somewhere. */
  slotsAreFree(): void {
    for (const [scope, { kind }] of this.#until) if (kind === 'slot') this.#until.delete(scope);
  }

  isAsleep(scope: string, nowMs: number): boolean {
    const until = this.#until.get(scope);
    if (!until) return false;
    if (until.ms > nowMs) return true;
    this.#until.delete(scope);
    return false;
  }

  /** Those that begin with `prefix`, without it. */
  asleep(prefix: string, nowMs: number): string[] {
    return [...this.#until.keys()]
      .filter((scope) => scope.startsWith(prefix) && this.isAsleep(scope, nowMs))
      .map((scope) => scope.slice(prefix.length));
  }

  /** When the first of them wakes; null: none sleeps. */
  firstWake(nowMs: number): number | null {
    let first: number | null = null;
    for (const [scope, { ms }] of this.#until)
      if (this.isAsleep(scope, nowMs)) first = Math.min(first ?? ms, ms);
    return first;
  }
}
