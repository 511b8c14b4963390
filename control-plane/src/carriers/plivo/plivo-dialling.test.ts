import t from 'tap';
import { openPlivoCarrierEmulator } from '@parley/emulators/carriers/plivo-carrier-emulator';
import { testCarrierDialling } from '../carrier-dialling.conformance.ts';
import { PlivoCarrier } from './plivo-carrier.ts';

testCarrierDialling(t, {
  from: '+14155550101',
  openEmulator: (clock) => openPlivoCarrierEmulator({ clock }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new PlivoCarrier(
      { authId: credentials['auth_id']!, authToken: wrong ? 'wrong' : credentials['auth_token']! },
      { clock, apiBaseUrl: apiUrl },
    ),
  queues: true,
});
