import { randomUUID } from 'node:crypto';
import { credentialDigest } from '@parley/shared/contracts/admission';
import type { RedeemRequest } from '@parley/shared/contracts/admission';
import { REALTIME_PATH } from '@parley/shared/contracts/addresses';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { GatewayServices } from '../gateway-services.ts';
import { closeCodes } from '../server/close-codes.ts';
import type { Socket, SocketLimits } from '../server/socket.ts';
import type { UpgradeRequest } from '../server/upgrade-request.ts';
import type { Admission, UpgradeRoute } from '../server/websocket-server.ts';
import { AdmissionError } from '../sessions/session-source.ts';
import { refusalOf } from '../sessions/carrier-streams.ts';
import { readHandshake } from './realtime-credential.ts';
import type { RealtimeHandshake } from './realtime-credential.ts';
import { RealtimeSession } from './realtime-session.ts';

/** Messages of refusals, for the client's log. */
const REASONS: Record<string, string> = {
  credential_invalid: 'Invalid token: unknown, expired, or issued for another server.',
  agent_refused:
    'The agent named by ?model= cannot be used with this API key: unknown, archived, of another project, or the key is not an editor.',
  origin_refused: 'The token was issued for another origin.',
  in_use: 'The token was already used. Each token opens one connection: create a new one.',
  session_over: 'The session has ended.',
  insufficient_balance: 'The balance of the org is used up. Ask the operator for a top-up.',
  limit: 'Concurrent session limit reached. Retry in a few seconds.',
};

const NO_CREDENTIAL =
  'Send Authorization: Bearer with an API key and ?model=<agent id>, or a token of POST /v1/realtime/client_secrets.';

/** Who wants a session. */
type Attempt = NonNullable<RealtimeHandshake['credential']> & {
  origin: string | undefined;
  /** See `RefusedCredentials.addressOf`. */
  address: string;
};

/**
 * `/v1/realtime`: browsers and programs that speak the OpenAI Realtime protocol. What is no credential at all is 401;
 * one that is not admitted gets the reason in an `error` event, since browsers do not show why an upgrade failed.
 */
export function realtimeRoute(
  { source, refused, registry, gatewayId, clock, logger }: GatewayServices,
  limits: Partial<SocketLimits>,
): UpgradeRoute {
  function admit(request: UpgradeRequest): Admission {
    const handshake = readHandshake(request);
    const { credential } = handshake;
    if (!credential) {
      logger.info({ status: 401 }, 'a realtime connection without a valid credential was refused');
      return { status: 401, detail: NO_CREDENTIAL };
    }
    if (!handshake.originIsValid) return { status: 403 };
    if (!registry.hasRoom && !handshake.beta) return { status: 503 };
    const address = refused.addressOf(request);
    if (refused.mayNotAsk(address)) return { status: 429 };
    const attempt = { ...credential, origin: handshake.origin, address };
    return {
      ...(handshake.protocol === '' ? {} : { protocol: handshake.protocol }),
      open(socket) {
        const session = new RealtimeSession({ socket, clock, logger });
        if (handshake.beta) {
          // Before the token is spent.
          session.refuse(
            closeCodes.betaProtocol,
            'beta_api_shape_disabled',
            'The beta Realtime API is not supported. Connect without its header and subprotocol.',
          );
        } else registry.expect(begin(session, socket, attempt));
        return session;
      },
    };
  }

  /** From 101 to the call, or to the report that there will be none. Never rejects. */
  async function begin(session: RealtimeSession, socket: Socket, attempt: Attempt): Promise<void> {
    const slot = registry.reserve();
    if (!slot) return session.refuse(closeCodes.limitReached, 'limit', REASONS['limit']!);
    try {
      const plan = await redeem(session, attempt);
      if (!plan) return;
      const { departure } = session;
      // Whose connection was lost on a later leg may come back to the conversation, as during a call.
      if (departure && !(departure.lost && plan.leg > 0))
        return await registry.decline(plan, departure.end, slot);
      const call = registry.begin({ plan, socket, startedAt: clock.now(), ...session.open(plan) }, slot);
      session.join(call.steering);
    } catch (error) {
      logger.error({ err: error }, 'a realtime session could not be started');
      session.refuse(
        closeCodes.internal,
        'internal',
        'The session could not be started. Retry in a few seconds.',
      );
    } finally {
      slot.release();
    }
  }

  async function redeem(session: RealtimeSession, attempt: Attempt): Promise<SessionPlan | undefined> {
    const { kind, token, origin, address } = attempt;
    const digest = credentialDigest(token);
    const request: RedeemRequest = {
      kind,
      ...(kind === 'realtime' ? { digest } : { token }),
      ...(attempt.kind === 'api_key' ? { agent_id: attempt.agentId } : {}),
      claim_id: randomUUID(),
      gateway_id: gatewayId,
      // What the plan fixes is not known yet.
      start: { encoding: 'pcm16', sample_rate: 24_000 },
      ...(origin === undefined ? {} : { origin }),
    };
    try {
      if (refused.knows(digest)) throw new AdmissionError('credential_invalid');
      return await source.redeem(request);
    } catch (error) {
      refused.note(address, digest, error);
      const [code, reason] = refusalOf(error);
      if (code === closeCodes.internal) logger.error({ err: error }, 'a token could not be redeemed');
      else logger.info({ code: reason }, 'a realtime session was refused');
      session.refuse(
        code,
        reason,
        REASONS[reason] ?? 'The session could not be started. Retry in a few seconds.',
      );
      return undefined;
    }
  }

  return { pattern: REALTIME_PATH, limits, admit };
}
