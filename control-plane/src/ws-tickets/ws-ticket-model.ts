import { Schema, type Connection, type InferSchemaType, type Model } from 'mongoose';

/** A claim stays repeatable this long after the credential has expired. */
export const CLAIM_REPEAT_SECONDS = 15 * 60;

const wsTicketSchema = new Schema(
  {
    /** SHA-256, hex: of the ticket, of the realtime token, or of the participant token's `jti`. */
    digest: { type: String, required: true, unique: true },
    kind: { type: String, enum: ['ticket', 'realtime', 'participant'], required: true },
    sessionId: { type: String, required: true, index: true },
    carrier: { type: String, default: null },
    /** Set where the call is known already: only its stream may claim. */
    carrierCallId: { type: String, default: null },
    /** The only `Origin` a widget's token may come from. */
    origin: { type: String, default: null },
    /** MongoDB deletes the document some time after this, so reads still check it. */
    expiresAt: { type: Date, required: true, expires: CLAIM_REPEAT_SECONDS },
    claimedBy: { type: String, default: null },
    claimedAt: { type: Date, default: null },
    /** Which leg of the session this claim became; null until the session has taken it. */
    leg: { type: Number, default: null },
  },
  { collection: 'ws_tickets', versionKey: false },
);

export type WsTicket = InferSchemaType<typeof wsTicketSchema>;
export type WsTicketModel = Model<WsTicket>;

export function wsTicketModel(connection: Connection): WsTicketModel {
  return connection.model<WsTicket>('WsTicket', wsTicketSchema);
}
