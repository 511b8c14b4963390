import type { RateCounter, Slots } from '@parley/shared/bus/bus';
import type { KnownCallEvent } from '@parley/shared/contracts/call-events';
import type { Clock } from '@parley/shared/time/clock';
import type { SessionRecord } from '../sessions/session-record.ts';
import { ExpiringCache } from '../storage/expiring-cache.ts';
import type { DialGate, GateVerdict } from './outbound-calls.ts';

/** Calls in a window that broke off because a provider was asked too often, which a credential may have. */
const MOST_REFUSALS = 5;
const WINDOW_SECONDS = 60;
/** How often there is one place more, once there are fewer. */
const ANOTHER_MS = 10_000;
/** Calls that use a credential are counted, so that it is known what half of them is. */
const UNLIMITED = 1_000_000;
/** How late it may be seen that an org uses another credential. */
const KNOWN_MS = 4000;

/** What is left of a credential's places since its provider complained. */
export interface Pressure {
  /** Places that were in use then. */
  before: number;
  /** Places that were left. */
  left: number;
  /** When, ms since the epoch. */
  at: number;
  /** The end of the window that it was for: each window counts once. */
  windowEnd: number;
}

/**
 * Halves the places of a credential whose provider refuses too much, once in each window.
 * @param now.refusals in the window that ends at `now.windowEnd`
 * @param now.used places in use
 * @returns what holds from now on; null: nothing
 */
export function underPressure(
  known: Pressure | null,
  now: { ms: number; refusals: number; windowEnd: number; used: number },
): Pressure | null {
  const limit = known && placesLeft(known, now.ms);
  if (now.refusals <= MOST_REFUSALS || known?.windowEnd === now.windowEnd)
    return limit === null ? keepWindow(known, now.windowEnd) : known;
  const used = Math.min(now.used, limit ?? Infinity);
  return {
    before: Math.max(used, limit === null ? 0 : known!.before),
    left: Math.max(1, Math.floor(used / 2)),
    ...{ at: now.ms, windowEnd: now.windowEnd },
  };
}

/** Half of them at first, and one more every ten seconds; null: as many as there were before, so that all limits are off. */
export function placesLeft({ before, left, at }: Pressure, nowMs: number): number | null {
  const places = left + Math.floor((nowMs - at) / ANOTHER_MS);
  return places >= before ? null : places;
}

/** A window that was acted on is remembered to its end. */
function keepWindow(known: Pressure | null, windowEnd: number): Pressure | null {
  return known?.windowEnd === windowEnd ? known : null;
}

/** Whose account a model is used with: `OrgModelCatalog`. */
export interface ModelCredentials {
  /** @returns null for what runs inside the installation, and for what cannot be used */
  credentialOf(orgId: string, modelId: string, projectId: string | null): Promise<string | null>;
}

type Models = Pick<SessionRecord, 'org_id' | 'project_id' | 'llm_id' | 'stt_id' | 'tts_id'>;

/** The model that an error of a call is of, by the error's code. */
const MODEL_OF: Readonly<Record<string, 'llm_id' | 'stt_id' | 'tts_id'>> = {
  llm_error: 'llm_id',
  stt_error: 'stt_id',
  tts_error: 'tts_id',
};

/** Fewer calls are dialled while a provider of theirs complains that it is asked too often. */
export class ProviderPressure implements DialGate {
  readonly name = 'provider_pressure';
  readonly #models: ModelCredentials;
  readonly #bus: { rates: RateCounter; slots: Slots };
  readonly #credentials: ExpiringCache<string | null>;
  readonly #pressures = new Map<string, Pressure>();

  constructor(deps: { models: ModelCredentials; bus: { rates: RateCounter; slots: Slots }; clock: Clock }) {
    this.#models = deps.models;
    this.#bus = deps.bus;
    this.#credentials = new ExpiringCache({ clock: deps.clock, ttlMs: KNOWN_MS, maxEntries: 10_000 });
  }

  /** Counts what gateways tell of providers that refuse. */
  async store(session: Models, event: KnownCallEvent): Promise<void> {
    if (event.type !== 'error' || event.data.fault !== 'rate_limit') return;
    const model = MODEL_OF[event.data.code];
    const credential = model && (await this.#credentialOf(session, session[model]));
    if (credential) await this.#bus.rates.hit(rateOf(credential), WINDOW_SECONDS);
  }

  async check(session: SessionRecord, nowMs: number): Promise<GateVerdict> {
    const ids = new Set([session.llm_id, session.stt_id, session.tts_id]);
    const all = await Promise.all([...ids].map((id) => this.#credentialOf(session, id)));
    const credentials = [...new Set(all)].filter((credential) => credential !== null);
    const places = credentials.map(async (credential) => ({
      bucket: bucketOf(credential),
      limit: (await this.#limitOf(credential, nowMs)) ?? UNLIMITED,
    }));
    return { pass: true, places: await Promise.all(places) };
  }

  async #limitOf(credential: string, nowMs: number): Promise<number | null> {
    const { count, resetAt } = await this.#bus.rates.hit(rateOf(credential), WINDOW_SECONDS, 0);
    const known = this.#pressures.get(credential) ?? null;
    if (!known && count <= MOST_REFUSALS) return null;
    const used = await this.#bus.slots.count(bucketOf(credential));
    const pressure = underPressure(known, { ms: nowMs, refusals: count, windowEnd: resetAt, used });
    if (pressure) this.#pressures.set(credential, pressure);
    else this.#pressures.delete(credential);
    return pressure && placesLeft(pressure, nowMs);
  }

  #credentialOf({ org_id, project_id }: Models, modelId: string): Promise<string | null> {
    return this.#credentials.get(`${org_id}:${project_id}:${modelId}`, () =>
      this.#models.credentialOf(org_id, modelId, project_id),
    );
  }
}

function rateOf(credential: string): string {
  return `pressure:${credential}`;
}

function bucketOf(credential: string): string {
  return `provider:${credential}`;
}
