import { randomUUID } from 'node:crypto';
import { credentialDigest } from '@parley/shared/contracts/admission';
import type { RedeemRequest } from '@parley/shared/contracts/admission';
import { REALTIME_PATH } from '@parley/shared/contracts/addresses';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { GatewayServices } from '../gateway-services.ts';
import { closeCodes } from '../server/close-codes.ts';
import type { Socket, SocketLimits } from '../server/socket.ts';
import type { Admission, UpgradeRequest, UpgradeRoute } from '../server/websocket-server.ts';
import { refusalOf } from '../sessions/carrier-streams.ts';
import { readKnock } from './realtime-credential.ts';
import type { RealtimeKnock } from './realtime-credential.ts';
import { RealtimeSession } from './realtime-session.ts';

/** Why a client is not let in, in words for its log. */
const REASONS: Record<string, string> = {
  credential_invalid: 'The token is not valid: unknown, expired, or not for this address.',
  origin_refused: 'The token belongs to another origin.',
  in_use: 'The token has been used already; each opens one connection.',
  session_over: 'The session is over.',
  limit: 'There is no room for another session just now.',
};

/**
 * `/v1/realtime`: browsers and programs that speak the OpenAI Realtime protocol. What is no credential at all is 401;
 * one that is not admitted is told why in an `error` event, since browsers do not show why an upgrade failed.
 */
export function realtimeRoute(
  { source, registry, gatewayId, clock, logger }: GatewayServices,
  limits: Partial<SocketLimits>,
): UpgradeRoute {
  function admit(request: UpgradeRequest): Admission {
    const knock = readKnock(request.headers);
    const { credential } = knock;
    if (!credential) return { status: 401 };
    if (!knock.originIsValid) return { status: 403 };
    if (!registry.hasRoom && !knock.beta) return { status: 503 };
    return {
      ...(knock.protocol === '' ? {} : { protocol: knock.protocol }),
      open(socket) {
        const session = new RealtimeSession({ socket, clock, logger });
        if (knock.beta) {
          // Before the token is spent.
          session.refuse(
            closeCodes.betaProtocol,
            'beta_api_shape_disabled',
            'The beta version of the Realtime API is not offered. Connect without its header or sub-protocol.',
          );
        } else registry.expect(begin(session, socket, credential, knock.origin));
        return session;
      },
    };
  }

  /** From 101 to the call, or to the report that there will be none. Never rejects. */
  async function begin(
    session: RealtimeSession,
    socket: Socket,
    credential: NonNullable<RealtimeKnock['credential']>,
    origin: string | undefined,
  ): Promise<void> {
    const place = registry.reserve();
    if (!place) return session.refuse(closeCodes.limitReached, 'limit', REASONS['limit']!);
    try {
      const plan = await redeem(session, credential, origin);
      if (!plan) return;
      const { departure } = session;
      // Whose connection was lost on a later leg may come back to the conversation, as during a call.
      if (departure && !(departure.lost && plan.leg > 0))
        return await registry.decline(plan, departure.end, place);
      const call = registry.begin({ plan, socket, startedAt: clock.now(), ...session.open(plan) }, place);
      session.join(call.steering);
    } catch (error) {
      logger.error({ err: error }, 'a realtime session could not begin');
      session.refuse(closeCodes.internal, 'internal', 'The session could not begin.');
    } finally {
      place.release();
    }
  }

  async function redeem(
    session: RealtimeSession,
    { kind, token }: NonNullable<RealtimeKnock['credential']>,
    origin: string | undefined,
  ): Promise<SessionPlan | undefined> {
    const request: RedeemRequest = {
      kind,
      ...(kind === 'participant' ? { token } : { digest: credentialDigest(token) }),
      claim_id: randomUUID(),
      gateway_id: gatewayId,
      // What the plan fixes is not known yet.
      start: { encoding: 'pcm16', sample_rate: 24_000 },
      ...(origin === undefined ? {} : { origin }),
    };
    try {
      return await source.redeem(request);
    } catch (error) {
      const [code, reason] = refusalOf(error);
      if (code === closeCodes.internal) logger.error({ err: error }, 'a token could not be redeemed');
      else logger.info({ code: reason }, 'realtime session refused');
      session.refuse(code, reason, REASONS[reason] ?? 'The session could not begin.');
      return undefined;
    }
  }

  return { pattern: REALTIME_PATH, limits, admit };
}
