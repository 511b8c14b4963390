import t from 'tap';
import { openTelnyxCarrierEmulator } from '@parley/emulators/carriers/telnyx-carrier-emulator';
import { testCarrierNumbers } from '../carrier-numbers.conformance.ts';
import { TelnyxCarrier } from './telnyx-carrier.ts';

testCarrierNumbers(t, {
  openEmulator: (clock) => openTelnyxCarrierEmulator({ clock }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new TelnyxCarrier(
      { apiKey: wrong ? 'wrong' : credentials['api_key']!, publicKey: credentials['public_key']! },
      { clock, apiBaseUrl: apiUrl },
    ),
  offer: { region: 'London', monthlyAmount: '1.50', setupAmount: '1.00', requiresDocuments: null },
  settings: { connection_id: /^\d+$/ },
  waits: true,
});
