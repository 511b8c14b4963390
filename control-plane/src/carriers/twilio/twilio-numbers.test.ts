import t from 'tap';
import { openTwilioCarrierEmulator } from '@parley/emulators/carriers/twilio-carrier-emulator';
import { testCarrierNumbers } from '../carrier-numbers.conformance.ts';
import { TwilioCarrier } from './twilio-carrier.ts';

testCarrierNumbers(t, {
  openEmulator: (clock) => openTwilioCarrierEmulator({ clock }),
  openCarrier: ({ credentials }, { clock, apiUrl, wrong }) =>
    new TwilioCarrier(
      { accountSid: credentials['account_sid']!, authToken: wrong ? 'wrong' : credentials['auth_token']! },
      { clock, apiBaseUrl: apiUrl },
    ),
  offer: { region: 'London', monthlyAmount: '1.50', setupAmount: null, requiresDocuments: false },
  settings: {
    voice_url: 'https://voice.example.com/voice',
    voice_method: 'POST',
    status_callback: 'https://voice.example.com/status',
    voice_application_sid: '',
  },
  waits: false,
});
