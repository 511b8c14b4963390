import { createHash } from 'node:crypto';
import {
  ForbiddenError,
  NotFoundError,
  UnauthorizedError,
  ValidationError,
} from '@parley/shared/errors/app-error';
import { newWebhookSecret, verifyWebhook } from '@parley/shared/http/webhook-signature';
import type { Clock } from '@parley/shared/time/clock';
import { idempotencyId, parseIdempotencyKey } from '../http/idempotency.ts';
import type { IdempotencyStore, StoredAnswer } from '../http/idempotency.ts';
import { checkStorable } from '../http/read-body.ts';
import { invalid, parseInput } from '../http/validation.ts';
import type { SessionAgent } from '../sessions/session-agent.ts';
import type { Database } from '../storage/database.ts';
import { Scope } from '../tenancy/scope.ts';
import {
  incomingCallRequest,
  refuseOverrides,
  topLevelVariables,
  toRequestedCall,
  toStartedCall,
} from './start-call-schema.ts';
import type { RequestedCall } from './start-call-schema.ts';
import type { StartCalls } from './start-call-service.ts';

/** Secrets of an agent's webhook. */
export interface WebhookSecrets {
  /** Those that are good now; none when the agent or its secret is not there. */
  known(agentId: string, webhook: 'start_call'): Promise<string[]>;
}

export interface IncomingRequest {
  agentId: string;
  /** As received. */
  body: Buffer;
  signature: string | undefined;
  idempotencyKey: string | undefined;
  /** Names the request in leases. */
  requestId: string;
}

/** Compared with where there is no secret, so that an unknown agent takes as long as a wrong signature. */
const NO_SECRET = newWebhookSecret();

/** The signed webhook by which an agent is asked to call somebody. */
export class IncomingCallsWebhook {
  readonly #calls: StartCalls;
  readonly #secrets: WebhookSecrets;
  readonly #idempotency: IdempotencyStore;
  readonly #database: Database;
  readonly #clock: Clock;

  constructor(deps: {
    calls: StartCalls;
    secrets: WebhookSecrets;
    idempotency: IdempotencyStore;
    database: Database;
    clock: Clock;
  }) {
    this.#calls = deps.calls;
    this.#secrets = deps.secrets;
    this.#idempotency = deps.idempotency;
    this.#database = deps.database;
    this.#clock = deps.clock;
  }

  /**
   * Starts the call of a signed request. A request that was signed before, or that has the key of an earlier one, gets
   * the first answer again.
   * @throws UnauthorizedError `bad_signature`, the same for all that is wrong with agent and signature; ForbiddenError
   * `webhook_disabled`, `org_suspended`; ValidationError; as `StartCalls.start`
   */
  async handle(request: IncomingRequest): Promise<StoredAnswer & { replayed: boolean }> {
    const { agent, signed } = await this.#authenticate(request);
    const { agentId, idempotencyKey } = request;
    const ids = [idempotencyId(agentId, 'POST', 'incoming-signature', signed)];
    // The header is not signed: without it the signature alone tells a repetition.
    const key = parseIdempotencyKey(idempotencyKey, false);
    if (key !== null) ids.push(idempotencyId(agentId, 'POST', 'incoming', key));
    return this.#once(ids, request, async () => {
      const scope = new Scope(this.#database, {
        orgId: agent.org_id,
        projectId: agent.project_id,
        projects: [agent.project_id],
        role: 'editor',
      });
      const call = readCall(request.body);
      if (!agent.config.webhooks.start_call.allow_overrides) refuseOverrides(call);
      const started = await this.#calls.start(scope, agent, call, { source: 'webhook', by: agentId });
      return toStartedCall(started);
    });
  }

  /** @returns the agent, and what the signature was of */
  async #authenticate({ agentId, body, signature }: IncomingRequest): Promise<{
    agent: SessionAgent;
    signed: string;
  }> {
    const agent = await this.#calls.agent(agentId).catch((error: unknown) => {
      if (error instanceof NotFoundError) return null;
      throw error;
    });
    const secrets = agent ? await this.#secrets.known(agentId, 'start_call') : [];
    const settings = agent?.config.webhooks.start_call;
    const check = verifyWebhook(
      secrets.length > 0 ? secrets : [NO_SECRET],
      signature,
      body,
      this.#clock.now(),
      { allowBodyForm: settings?.require_timestamp !== true },
    );
    if (!agent || !settings || !check.ok)
      throw new UnauthorizedError('bad_signature', 'The signature is missing, wrong, or too old.');
    if (!settings.enabled)
      throw new ForbiddenError(
        'webhook_disabled',
        'The start-call webhook of this agent is disabled. Enable config.webhooks.start_call.',
      );
    await this.#calls.permit(agent);
    const digest = createHash('sha256').update(body).digest('hex');
    const at = check.form === 'timestamp' ? /t=(\d+)/.exec(signature ?? '')?.[1] : undefined;
    return { agent, signed: `${at ?? ''}:${digest}` };
  }

  /** Runs `run`, or gives the first answer of a request with one of these ids. */
  async #once(
    [id, ...others]: readonly string[],
    request: IncomingRequest,
    run: () => Promise<unknown>,
  ): Promise<StoredAnswer & { replayed: boolean }> {
    if (id === undefined) return { status: 202, body: JSON.stringify(await run()), replayed: false };
    const { body, requestId } = request;
    const first = await this.#idempotency.begin(id, body, requestId);
    if (first) return { ...first, replayed: true };
    try {
      const answer = await this.#once(others, request, run);
      await this.#idempotency.finish(id, requestId, { status: answer.status, body: answer.body });
      return answer;
    } catch (error) {
      if (error instanceof ValidationError)
        await this.#idempotency.finish(id, requestId, {
          status: 422,
          body: JSON.stringify({ detail: error.details }),
        });
      else await this.#idempotency.release(id, requestId);
      throw error;
    }
  }
}

/** @throws ValidationError */
function readCall(bytes: Buffer): RequestedCall {
  let body: unknown;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw invalid(['body'], 'The body is not valid JSON', 'json_invalid');
  }
  checkStorable(body, 'body');
  const call = toRequestedCall(parseInput(incomingCallRequest, body, 'body'));
  return { ...call, variables: topLevelVariables(body as Record<string, unknown>, call.variables) };
}
