import t from 'tap';
import { openTwilioCarrierEmulator } from '@parley/emulators/carriers/twilio-carrier-emulator';
import { testCarrierDialling } from '../carrier-dialling.conformance.ts';
import { TwilioCarrier } from './twilio-carrier.ts';

testCarrierDialling(t, {
  from: '+14155550102',
  openEmulator: (clock) => openTwilioCarrierEmulator({ clock }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new TwilioCarrier(
      { accountSid: credentials['account_sid']!, authToken: wrong ? 'wrong' : credentials['auth_token']! },
      { clock, apiBaseUrl: apiUrl },
    ),
  queues: true,
});
