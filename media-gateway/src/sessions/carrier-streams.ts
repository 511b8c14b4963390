import { randomUUID } from 'node:crypto';
import { STREAMS_PREFIX } from '@parley/shared/contracts/addresses';
import { TICKET_PATTERN, credentialDigest } from '@parley/shared/contracts/admission';
import { carrierSchema } from '@parley/shared/contracts/session-values';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { SessionPlan } from '@parley/shared/contracts/session-plan';
import type { Logger } from '@parley/shared/logging/logger';
import type { Clock } from '@parley/shared/time/clock';
import type { CallRegistry } from './call-registry.ts';
import type { CarrierDescriptor } from '../carriers/carrier-adapter.ts';
import { PhoneParticipant } from '../participants/phone-participant.ts';
import { closeCodes } from '../server/close-codes.ts';
import type { Socket } from '../server/socket.ts';
import type { UpgradeRequest } from '../server/upgrade-request.ts';
import type { Admission, UpgradeRoute } from '../server/websocket-server.ts';
import type { RefusedCredentials } from './refused-credentials.ts';
import { AdmissionError } from './session-source.ts';
import type { SessionSource } from './session-source.ts';

/** What becomes of a stream whose ticket is not admitted. */
const REFUSALS: Record<AdmissionError['code'], [number, string]> = {
  credential_invalid: [closeCodes.credentialRefused, 'credential_invalid'],
  signature_invalid: [closeCodes.credentialRefused, 'signature_invalid'],
  call_id_mismatch: [closeCodes.credentialRefused, 'call_id_mismatch'],
  origin_refused: [closeCodes.credentialRefused, 'origin_refused'],
  agent_refused: [closeCodes.credentialRefused, 'agent_refused'],
  insufficient_balance: [closeCodes.limitReached, 'insufficient_balance'],
  in_use: [closeCodes.credentialInUse, 'in_use'],
  session_over: [closeCodes.sessionOver, 'session_over'],
  limit: [closeCodes.limitReached, 'limit'],
  unavailable: [closeCodes.internal, 'unavailable'],
};

/** Close code and reason of a client that is not admitted. */
export function refusalOf(error: unknown): [number, string] {
  const known = error instanceof AdmissionError ? REFUSALS[error.code] : undefined;
  return known ?? [closeCodes.internal, 'internal'];
}

/**
 * Carriers' media streams: the ticket in the path is looked up before 101 and claimed by the first valid `start`.
 * The path holds the ticket and is never logged.
 */
export function carrierStreams(deps: {
  carriers: Readonly<Record<CarrierName, CarrierDescriptor>>;
  source: SessionSource;
  refused: RefusedCredentials;
  registry: CallRegistry;
  gatewayId: string;
  /** After 101, for the carrier to say `start`. */
  startTimeoutMs: number;
  clock: Clock;
  logger: Logger;
}): UpgradeRoute {
  const { carriers, source, refused, registry, clock, logger } = deps;

  async function admit(request: UpgradeRequest): Promise<Admission> {
    const carrier = carrierSchema.safeParse(request.params[0]).data;
    const ticket = request.params[1] ?? '';
    if (!carrier) return { status: 404 };
    if (!TICKET_PATTERN.test(ticket)) return { status: 401 };
    if (!registry.hasRoom) return { status: 503 };
    const digest = credentialDigest(ticket);
    const address = refused.addressOf(request);
    // A ticket is for one carrier: at another one it is none.
    const attempt = `${carrier} ${digest}`;
    if (refused.mayNotAsk(address)) return { status: 429 };
    const descriptor = carriers[carrier];
    const signatureHeaders = descriptor.signatureHeaders.flatMap((name) => {
      const value = request.headers.get(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    let expiresAt: number;
    try {
      if (refused.knows(attempt)) throw new AdmissionError('credential_invalid');
      // Looked up to the end, whether the client is still there or not: a guess counts.
      const admitted = await source.check({
        kind: 'ticket',
        digest,
        carrier,
        path: request.target,
        signature_headers: Object.fromEntries(signatureHeaders),
      });
      expiresAt = Date.parse(admitted.expires_at);
    } catch (error) {
      refused.note(address, attempt, error);
      if (error instanceof AdmissionError && error.code !== 'unavailable') {
        logger.info({ carrier, code: error.code }, 'a carrier stream was not admitted');
        return { status: 401 };
      }
      logger.error({ carrier, err: error }, 'a ticket could not be checked with the control plane');
      return { status: 503 };
    }
    return {
      open(socket) {
        const participant = new PhoneParticipant({
          socket,
          adapter: descriptor.createAdapter(),
          clock,
          logger,
        });
        const ringingMs = descriptor.connectsWhileRinging ? expiresAt - clock.now() : 0;
        const waitMs = Math.max(deps.startTimeoutMs, ringingMs);
        registry.expect(begin(participant, socket, digest, waitMs));
        return participant;
      },
    };
  }

  /** From 101 to the call. Never rejects. */
  async function begin(
    participant: PhoneParticipant,
    socket: Socket,
    digest: string,
    waitMs: number,
  ): Promise<void> {
    const timer = clock.setTimeout(() => participant.close(closeCodes.noStart, 'no_start'), waitMs);
    const start = await participant.started;
    timer.cancel();
    if (!start) return;
    const slot = registry.reserve();
    if (!slot) return participant.close(closeCodes.limitReached, 'limit');
    try {
      const plan = await redeem(participant, digest, start);
      if (plan) {
        registry.begin(
          {
            plan,
            participant,
            socket,
            startedAt: start.at,
            carrierCallId: start.carrierCallId,
            streamId: start.streamId,
          },
          slot,
        );
      }
    } catch (error) {
      logger.error({ carrier: participant.carrier, err: error }, 'a call could not be started');
      participant.close(closeCodes.internal, 'internal');
    } finally {
      slot.release();
    }
  }

  async function redeem(
    participant: PhoneParticipant,
    digest: string,
    start: { carrierCallId: string; streamId: string },
  ): Promise<SessionPlan | undefined> {
    try {
      return await source.redeem({
        kind: 'ticket',
        digest,
        claim_id: randomUUID(),
        gateway_id: deps.gatewayId,
        start: {
          carrier: participant.carrier,
          carrier_call_id: start.carrierCallId,
          stream_id: start.streamId,
          encoding: participant.inputFormat.encoding,
          sample_rate: participant.inputFormat.sampleRate,
        },
      });
    } catch (error) {
      const [code, reason] = refusalOf(error);
      if (code === closeCodes.internal) {
        logger.error({ carrier: participant.carrier, err: error }, 'a ticket could not be redeemed');
      } else {
        logger.info({ carrier: participant.carrier, code: reason }, 'a carrier stream was refused');
      }
      participant.close(code, reason);
      return undefined;
    }
  }

  return { pattern: `${STREAMS_PREFIX}:carrier/:ticket`, admit };
}
