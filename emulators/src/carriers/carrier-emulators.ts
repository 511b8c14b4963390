import type { CarrierName } from '@parley/shared/contracts/session-values';
import type { CarrierEmulatorDescriptor } from '../callers/emulated-call.ts';
import { plivo } from './plivo-carrier-emulator.ts';
import { telnyx } from './telnyx-carrier-emulator.ts';
import { twilio } from './twilio-carrier-emulator.ts';

/** The carriers that are emulated: the only place that names them. */
export const carrierEmulators: Readonly<Record<CarrierName, CarrierEmulatorDescriptor>> = {
  plivo,
  twilio,
  telnyx,
};
