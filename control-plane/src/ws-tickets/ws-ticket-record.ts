import type { CredentialKind } from '@parley/shared/contracts/admission';
import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { StoredRecord } from '../storage/collection.ts';

/**
 * One credential that opens one WebSocket. `_id` is a SHA-256 in hex: of the ticket, of the realtime token, or of the
 * participant token's `jti`. The thing itself is never stored.
 */
export interface WsTicketRecord extends StoredRecord {
  kind: CredentialKind;
  session_id: string;
  carrier: CarrierName | null;
  /** Set where the call is known already: only its stream may claim. */
  carrier_call_id: string | null;
  /** The only `Origin` a widget's token may come from. */
  origin: string | null;
  /** MongoDB deletes the record some time after this, so reads still check it. */
  expires_at: Date;
  claimed_by: string | null;
  claimed_at: Date | null;
  /** Which leg of the session this claim became; null until the session has taken it. */
  leg: number | null;
}
