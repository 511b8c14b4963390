import t from 'tap';
import { openPlivoCarrierEmulator } from '@parley/emulators/carriers/plivo-carrier-emulator';
import { testCarrierNumbers } from '../carrier-numbers.conformance.ts';
import { PlivoCarrier } from './plivo-carrier.ts';

testCarrierNumbers(t, {
  openEmulator: (clock) => openPlivoCarrierEmulator({ clock }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new PlivoCarrier(
      { authId: credentials['auth_id']!, authToken: wrong ? 'wrong' : credentials['auth_token']! },
      { clock, apiBaseUrl: apiUrl },
    ),
  offer: {
    ...{ region: 'London, GB', monthlyAmount: '1.50000', setupAmount: '1.00000', requiresDocuments: false },
  },
  settings: { app_id: /^\d+$/ },
  waits: true,
});
