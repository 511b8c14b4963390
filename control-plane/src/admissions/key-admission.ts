import { createHmac } from 'node:crypto';
import { credentialDigest, type RedeemRequest } from '@parley/shared/contracts/admission';
import {
  AppError,
  ForbiddenError,
  PaymentRequiredError,
  TooManyRequestsError,
  UnauthorizedError,
} from '@parley/shared/errors/app-error';
import { Access } from '../tenancy/access.ts';
import type { KeyPrincipal, Principal } from '../tenancy/principal.ts';
import type { Database } from '../storage/database.ts';
import type { Directory } from '../tenancy/directory.ts';
import type { WsTicketService } from '../ws-tickets/ws-ticket-service.ts';

/** A session minted and not claimed by then is closed. */
const LIFE_SECONDS = 60;

/** The session that is minted: as of a client secret without further wishes. */
interface KeySession {
  agent_id: string;
  record: true;
  client_tools: true;
  tool_mocks: [];
  input_format: 'pcm16_24000';
  output_format: 'pcm16_24000';
  expires_in_seconds: number;
}

export interface KeyAdmissionDeps {
  apiKeys: { authenticate(key: string): Promise<KeyPrincipal> };
  creation: { mint(access: Access, body: KeySession, token: string): Promise<unknown> };
  tickets: Pick<WsTicketService, 'isKnown'>;
  database: Database;
  directory: Directory;
}

/** Lets programs into `/v1/realtime` by an API key: a session is minted and claimed in one step. */
export class KeyAdmission {
  readonly #deps: KeyAdmissionDeps;

  constructor(deps: KeyAdmissionDeps) {
    this.#deps = deps;
  }

  /**
   * Mints a session for the claim, once: its token follows from key, claim and agent, so that a repeated request meets
   * the first one's session.
   * @returns the request that claims it
   * @throws UnauthorizedError `credential_invalid`; ForbiddenError `agent_refused`; PaymentRequiredError;
   *   TooManyRequestsError `limit`
   */
  async mint(request: RedeemRequest): Promise<RedeemRequest> {
    const { token: key = '', agent_id: agentId = '', claim_id: claimId, ...rest } = request;
    const principal = await this.#deps.apiKeys.authenticate(key).catch((cause: unknown) => {
      if (!(cause instanceof UnauthorizedError)) throw cause;
      throw new UnauthorizedError('credential_invalid', cause.message, { cause });
    });
    const token = `ek_${createHmac('sha256', key).update(`${claimId} ${agentId}`).digest('base64url')}`;
    const digest = credentialDigest(token);
    if (!(await this.#deps.tickets.isKnown(digest))) await this.#mint(principal, agentId, token);
    return { ...rest, kind: 'realtime', digest, claim_id: claimId };
  }

  async #mint(principal: Principal, agentId: string, token: string): Promise<void> {
    const body: KeySession = {
      agent_id: agentId,
      record: true,
      client_tools: true,
      tool_mocks: [],
      input_format: 'pcm16_24000',
      output_format: 'pcm16_24000',
      expires_in_seconds: LIFE_SECONDS,
    };
    try {
      await this.#deps.creation.mint(new Access(principal, this.#deps), body, token);
    } catch (cause) {
      if (cause instanceof TooManyRequestsError)
        throw new TooManyRequestsError('limit', cause.message, cause.retryAfterSeconds ?? 10);
      if (cause instanceof PaymentRequiredError || !(cause instanceof AppError) || cause.status >= 500)
        throw cause;
      throw new ForbiddenError('agent_refused', cause.message, { cause });
    }
  }
}
