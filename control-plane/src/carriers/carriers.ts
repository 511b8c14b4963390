import { CARRIERS, type CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierDescriptor } from './carrier.ts';
import { plivo } from './plivo/plivo-carrier.ts';
import { telnyx } from './telnyx/telnyx-carrier.ts';
import { twilio } from './twilio/twilio-carrier.ts';

/** The carriers whose signalling is spoken: the only place that names them. */
export const carriers: Readonly<Record<CarrierName, CarrierDescriptor>> = { plivo, twilio, telnyx };

/** What each carrier's account needs, for people. */
export const credentialsText = CARRIERS.map((name) => {
  const { title, credentials } = carriers[name];
  const names = Object.entries(credentials.shape).map(([field, schema]) =>
    schema.safeParse(undefined).success ? `${field} (for outbound calls)` : field,
  );
  return `${title}: ${names.join(', ')}.`;
}).join(' ');

/** The carriers that have a feed of complaints about unsolicited calls. */
export const complaintCarriers = CARRIERS.filter((name) => carriers[name].complaints !== undefined);
