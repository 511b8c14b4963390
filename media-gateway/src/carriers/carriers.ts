import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierDescriptor } from './carrier-adapter.ts';
import { plivo } from './plivo/plivo-adapter.ts';
import { telnyx } from './telnyx/telnyx-adapter.ts';
import { twilio } from './twilio/twilio-adapter.ts';

/** The carriers whose media streams are spoken: the only place that names them. */
export const carriers: Readonly<Record<CarrierName, CarrierDescriptor>> = { plivo, twilio, telnyx };
