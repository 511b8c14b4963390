import type { CarrierName } from '@parley/shared/contracts/session-values';
import { HttpResponse } from '../http/operation.ts';
import type { SessionRecord } from '../sessions/session-record.ts';
import type { Carrier, CarrierDocument, CarrierRequest } from './carrier.ts';

/** A carrier's callback is shorter. */
export const MAX_CALLBACK_BYTES = 64 * 1024;

/** The account at a carrier that a callback is of. */
export interface CalledAccount {
  _id: string;
  org_id: string;
  provider: CarrierName;
  /** A disabled or unverified one answers no calls; those that run go on. */
  status: 'unverified' | 'active' | 'invalid' | 'disabled';
  /** When the last callback came, to the minute. */
  last_callback_at?: Date | null;
}

/** A callback that may be trusted, and what it is about. */
export interface TrustedCallback {
  carrier: Carrier;
  account: CalledAccount;
  request: CarrierRequest;
}

/** How a call ends by the carrier's word, with nothing to analyse. */
export function carrierVerdict(nowMs: number, how: Partial<SessionRecord>) {
  const now = new Date(nowMs);
  return {
    ...how,
    ended_at: now,
    closed_by: 'carrier' as const,
    post_call_status: 'skipped' as const,
    post_call_finished_at: now,
  };
}

/** A callback as it came, for `CallbackSignatures`. */
export function toCarrierRequest(request: {
  method: string;
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  rawBody: Buffer;
}): CarrierRequest {
  return {
    method: request.method === 'GET' ? 'GET' : 'POST',
    url: request.url,
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(', ') : value,
      ]),
    ),
    body: request.rawBody,
  };
}

/** The answer to a carrier. */
export function toResponse(document: CarrierDocument): HttpResponse<string> {
  return new HttpResponse(200, document.body, {
    'Content-Type': document.contentType,
    // The document may hold a ticket.
    'Cache-Control': 'no-store',
  });
}
