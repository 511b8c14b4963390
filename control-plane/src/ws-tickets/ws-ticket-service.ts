import { randomBytes } from 'node:crypto';
import type { Model } from 'mongoose';
import {
  credentialDigest,
  TICKET_LIFE_SECONDS,
  type CredentialKind,
} from '@parley/shared/contracts/admission';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import { ConflictError, UnauthorizedError } from '@parley/shared/errors/app-error';
import type { Clock } from '@parley/shared/time/clock';
import type { Database } from '../storage/database.ts';
import { wsTicketCollection } from './ws-ticket-model.ts';
import type { WsTicketRecord } from './ws-ticket-record.ts';

export interface IssuedCredential {
  /** Given out once and never stored. */
  credential: string;
  expiresAt: Date;
}

/** What the socket says of itself; a ticket bound to something else does not admit it. */
export interface ClaimFacts {
  carrier?: CarrierName | undefined;
  carrierCallId?: string | undefined;
  origin?: string | undefined;
}

/** Single-use admission to a WebSocket: carrier tickets, realtime tokens and participant tokens alike. */
export class WsTicketService {
  readonly #database: Database;
  readonly #tickets: Model<WsTicketRecord>;
  readonly #clock: Clock;

  constructor({ database, clock }: { database: Database; clock: Clock }) {
    this.#database = database;
    this.#tickets = database.model(wsTicketCollection);
    this.#clock = clock;
  }

  /** A ticket for one carrier stream. `lifeSeconds` is longer only where a dial carries it. */
  async issueTicket(options: {
    sessionId: string;
    carrier: CarrierName;
    carrierCallId?: string | null;
    lifeSeconds?: number;
  }): Promise<IssuedCredential> {
    const credential = randomBytes(32).toString('base64url');
    const expiresAt = this.#in(options.lifeSeconds ?? TICKET_LIFE_SECONDS);
    await this.#database.insert(wsTicketCollection, {
      _id: credentialDigest(credential),
      kind: 'ticket',
      session_id: options.sessionId,
      carrier: options.carrier,
      carrier_call_id: options.carrierCallId ?? null,
      expires_at: expiresAt,
    });
    return { credential, expiresAt };
  }

  /** A token for one connection to `/v1/realtime`. */
  async issueRealtimeToken(options: {
    sessionId: string;
    lifeSeconds: number;
    origin?: string | null;
    /** One that its holder has already. */
    credential?: string | undefined;
  }): Promise<IssuedCredential> {
    const credential = options.credential ?? `ek_${randomBytes(32).toString('base64url')}`;
    const expiresAt = this.#in(options.lifeSeconds);
    await this.#database.insert(wsTicketCollection, {
      _id: credentialDigest(credential),
      kind: 'realtime',
      session_id: options.sessionId,
      origin: options.origin ?? null,
      expires_at: expiresAt,
    });
    return { credential, expiresAt };
  }

  /** Whether a credential of this digest was issued, and not forgotten yet. */
  async isKnown(digest: string): Promise<boolean> {
    return (await this.#tickets.exists({ _id: digest })) !== null;
  }

  /** Remembers a participant token by its `jti`, so that it opens one connection only. */
  async registerParticipant(options: { sessionId: string; jti: string; expiresAt: Date }): Promise<void> {
    await this.#database.insert(wsTicketCollection, {
      _id: credentialDigest(options.jti),
      kind: 'participant',
      session_id: options.sessionId,
      expires_at: options.expiresAt,
    });
  }

  /**
   * Looks a credential up before the upgrade is answered; changes nothing.
   * @throws UnauthorizedError `credential_invalid` for unknown, claimed and expired alike
   */
  async check(kind: CredentialKind, digest: string, carrier?: CarrierName): Promise<WsTicketRecord> {
    const ticket = await this.#tickets
      .findOne({
        _id: digest,
        kind,
        claimed_by: null,
        expires_at: { $gt: this.#now() },
        ...(carrier ? { carrier } : {}),
      })
      .lean();
    if (!ticket) throw invalid();
    return ticket;
  }

  /**
   * Claims a credential for one socket: of two sockets racing with the same one, exactly one wins.
   * Asking again with the same `claimId` gives the same answer, so a lost reply loses no call. A socket that does
   * not fit what the credential is bound to burns nothing.
   * @throws UnauthorizedError `credential_invalid` for unknown and expired
   * @throws ConflictError `in_use` when another socket holds it, `call_id_mismatch` when it belongs to another call
   */
  async claim(
    kind: CredentialKind,
    digest: string,
    claimId: string,
    facts: ClaimFacts,
  ): Promise<WsTicketRecord> {
    const now = this.#now();
    const filter = {
      _id: digest,
      kind,
      $and: [
        { $or: [{ claimed_by: null, expires_at: { $gt: now } }, { claimed_by: claimId }] },
        { $or: [{ carrier_call_id: null }, { carrier_call_id: facts.carrierCallId ?? null }] },
        { $or: [{ origin: null }, { origin: facts.origin ?? null }] },
      ],
      ...(kind === 'ticket' ? { carrier: facts.carrier ?? null } : {}),
    };
    const claimed = await this.#tickets
      .findOneAndUpdate(
        filter,
        { $set: { claimed_by: claimId, claimed_at: now } },
        { returnDocument: 'after' },
      )
      .lean();
    if (claimed) return claimed;

    // Only to say why not: the decision has been made by the update.
    const ticket = await this.#tickets.findOne({ _id: digest, kind }).lean();
    if (!ticket) throw invalid();
    if (ticket.claimed_by && ticket.claimed_by !== claimId) {
      throw new ConflictError(
        'in_use',
        'The credential was already used. Each credential opens one connection.',
      );
    }
    if (
      ticket.expires_at.getTime() <= now.getTime() ||
      (kind === 'ticket' && ticket.carrier !== facts.carrier)
    ) {
      throw invalid();
    }
    if (ticket.carrier_call_id !== null && ticket.carrier_call_id !== facts.carrierCallId) {
      throw new ConflictError('call_id_mismatch', 'The ticket was issued for another call.');
    }
    throw new UnauthorizedError('origin_refused', 'The token was issued for another origin.');
  }

  /** Notes which leg the claim became. */
  async setLeg(digest: string, leg: number): Promise<void> {
    await this.#tickets.updateOne({ _id: digest }, { $set: { leg } });
  }

  /** Makes all credentials of a session that nobody has used worthless. */
  async revokeUnclaimed(sessionId: string): Promise<void> {
    await this.#tickets.deleteMany({ session_id: sessionId, claimed_by: null });
  }

  /** When the last unclaimed credential of the session ends, or null when there is none. */
  async lastUnclaimedExpiry(sessionId: string): Promise<Date | null> {
    const last = await this.#tickets
      .findOne({ session_id: sessionId, claimed_by: null })
      .sort({ expires_at: -1 })
      .select({ expires_at: 1 })
      .lean();
    return last?.expires_at ?? null;
  }

  #now(): Date {
    return new Date(this.#clock.now());
  }

  #in(seconds: number): Date {
    return new Date(this.#clock.now() + seconds * 1000);
  }
}

function invalid(): UnauthorizedError {
  return new UnauthorizedError('credential_invalid', 'Invalid credential.');
}
