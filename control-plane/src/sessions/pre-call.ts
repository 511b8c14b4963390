import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import { sleep } from '@parley/shared/async/timeout';
import { variablesSchema } from '../http/value-schemas.ts';
import type { SessionAgent } from './session-agent.ts';
import type { SessionStore } from './session-store.ts';
import type { SessionRecord } from './session-record.ts';

/** One bounded request to an address of a tenant's. */
export type OutboundCall = (request: {
  method: 'GET' | 'POST';
  url: string;
  headers: Record<string, string>;
  body: string | null;
  timeoutMs: number;
  orgId: string;
}) => Promise<{ status: number; body: string }>;

const POLL_MS = 40;
/** How many variables the answer may add. */
const MAX_ADDED = 100;

/**
 * The agent's question to its owner's system before the call: begun when the session is made, waited for when media
 * is about to flow, by whichever process that is.
 */
export class PreCallService {
  readonly #store: SessionStore;
  readonly #call: OutboundCall;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(deps: { store: SessionStore; call: OutboundCall; clock: Clock; logger: Logger }) {
    this.#store = deps.store;
    this.#call = deps.call;
    this.#clock = deps.clock;
    this.#logger = deps.logger;
  }

  /** Begins in the background where the agent asks for it. @returns the session, marked */
  async start(session: SessionRecord, agent: SessionAgent | null): Promise<SessionRecord> {
    const settings = agent?.config.pre_call;
    if (!settings?.url) return session;
    const deadline = new Date(this.#clock.now() + settings.timeout_ms);
    const marked = await this.#store.change(session._id, { pre_call: { state: 'running', deadline } });
    const work = this.#run(session, { ...settings, url: settings.url }, deadline).finally(() => {
      this.#running.delete(work);
    });
    this.#running.add(work);
    return marked ?? session;
  }

  /** Waits for the end of the pre-call request, at most until its time-out. @returns the session after it */
  async settled(session: SessionRecord): Promise<SessionRecord> {
    let current = session;
    while (current.pre_call?.state === 'running' && this.#clock.now() < current.pre_call.deadline.getTime()) {
      await sleep(POLL_MS);
      current = (await this.#store.find(session._id)) ?? current;
    }
    return current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running);
  }

  async #run(
    session: SessionRecord,
    settings: SessionAgent['config']['pre_call'] & { url: string },
    deadline: Date,
  ): Promise<void> {
    try {
      const { status, body } = await this.#call({
        method: settings.method,
        url: settings.url,
        headers: { ...settings.headers, 'content-type': 'application/json' },
        body: settings.method === 'POST' ? JSON.stringify(facts(session)) : null,
        timeoutMs: settings.timeout_ms,
        orgId: session.org_id,
      });
      if (status < 200 || status >= 300) throw new Error(`HTTP ${status}`);
      const added = variablesSchema.parse(body.trim() === '' ? {} : JSON.parse(body));
      const variables = Object.fromEntries(
        Object.entries({ ...session.variables, ...added }).slice(0, MAX_ADDED),
      );
      await this.#store.change(session._id, {
        variables,
        trusted_variables: Object.keys(added).filter((name) => Object.hasOwn(variables, name)),
        pre_call: { state: 'done', deadline },
      });
    } catch (error) {
      this.#logger.warn(
        { sessionId: session._id, reason: error instanceof Error ? error.name : 'unknown' },
        'a pre-call request failed',
      );
      await this.#store
        .change(session._id, { pre_call: { state: 'failed', deadline } })
        .catch((failure: unknown) =>
          this.#logger.error({ err: failure }, 'a failed session could not be marked as failed'),
        );
    }
  }
}

function facts(session: SessionRecord) {
  return {
    session_id: session._id,
    agent_id: session.agent_id,
    channel: session.channel,
    direction: session.direction,
    from_number: session.from_number,
    to_number: session.to_number,
    variables: session.variables,
  };
}
