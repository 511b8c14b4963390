import { randomBytes } from 'node:crypto';
import type { HttpAnswer } from '../server/emulator-server.ts';
import { systemClock, type Clock } from '@parley/shared/time/clock';
import { openCarrierAccount } from './carrier-account.ts';
import { basicAuthorization, type CarrierApiRequest } from './carrier-api.ts';
import type {
  CarrierEmulator,
  CarrierEmulatorDescriptor,
  PlaceCallOptions,
  Reach,
} from '../callers/emulated-call.ts';
import { Conferences } from './conferences.ts';
import { NumberStock } from './number-stock.ts';
import { sid, TwilioCall } from './twilio-call.ts';
import { MAX_TWIML, TwilioDials, twilioError } from './twilio-dials.ts';
import { TwilioNumbers } from './twilio-numbers.ts';

/**
 * An emulated Twilio: asks for TwiML by a signed form, obeys it (Connect and Start with Stream, Dial with a number or a conference, Redirect, Play
 * with digits, Pause, Reject, Hangup), speaks the stream protocol, serves the REST API of calls (create, list, fetch,
 * update), and posts signed status callbacks. No account, and a telephone network of its own.
 */
export async function openTwilioCarrierEmulator(
  options: {
    accountSid?: string | undefined;
    authToken?: string | undefined;
    reach?: Reach | undefined;
    clock?: Clock | undefined;
  } = {},
): Promise<CarrierEmulator> {
  const { accountSid = sid('AC'), authToken = newAuthToken(), reach, clock = systemClock } = options;
  const account = `/2010-04-01/Accounts/${accountSid}`;
  const credentials = { accountSid, authToken, conferences: new Conferences() };
  const dials = new TwilioDials({ account, credentials, reach, clock });
  const stock = new NumberStock(() => sid('PN'), clock);
  const numbers = new TwilioNumbers(account, accountSid, stock);
  return openCarrierAccount<TwilioCall, PlaceCallOptions>({
    name: 'twilio',
    credentials: { account_sid: accountSid, auth_token: authToken },
    authorization: basicAuthorization(accountSid, authToken),
    refusal: (status) =>
      status === 401
        ? twilioError(20003, 'Authenticate', 401)
        : status === 429
          ? twilioError(20429, 'Too Many Requests', 429)
          : twilioError(20500, 'Refused by the emulator', status),
    account: {
      path: `${account}.json`,
      body: () => ({ sid: accountSid, status: 'active', friendly_name: 'Emulated account' }),
    },
    clock,
    numbers: stock,
    route: (request, calls) => dials.answer(request, calls) ?? numbers.answer(request, calls.conditions),
    findCall({ path }) {
      const calls = `${account}/Calls/`;
      const callId = path.startsWith(calls)
        ? /^([^/]+)\.json$/.exec(path.slice(calls.length))?.[1]
        : undefined;
      return callId === undefined ? undefined : { callId, resource: '' };
    },
    notFound: ({ path }) => twilioError(20404, `The requested resource ${path} was not found`, 404),
    command: (call, _resource, request) => command(call, request),
    dial: (place, conditions) => new TwilioCall({ reach, ...place }, credentials, conditions),
  });
}

const newAuthToken = () => randomBytes(16).toString('hex');

export const twilio: CarrierEmulatorDescriptor = {
  newAccount: () => ({ account_sid: sid('AC'), auth_token: newAuthToken() }),
  open: ({ account_sid, auth_token }, reach) =>
    openTwilioCarrierEmulator({ accountSid: account_sid, authToken: auth_token, reach }),
};

/** What can be done to a live call; carriers 2.6. */
function command(call: TwilioCall, request: CarrierApiRequest): HttpAnswer {
  if (request.method === 'GET') return { status: 200, body: call.record() };
  const form = Object.fromEntries(new URLSearchParams(request.body));
  const bad = (code: number, message: string): HttpAnswer => ({
    status: 400,
    body: twilioError(code, message, 400),
  });
  if (request.method !== 'POST') return bad(20004, 'Method not allowed');
  if (form['Status'] === 'completed') call.end('api');
  else if (form['Status'] === 'canceled') {
    // Only calls that nobody has answered: others go on.
    if (call.status !== 'in-progress') call.end('api');
  } else if (form['Twiml'] !== undefined) {
    if (form['Twiml'].length > MAX_TWIML) return bad(32018, 'Twiml is too long');
    call.redirect({ twiml: form['Twiml'] });
  } else if (form['Url'] !== undefined) call.redirect({ url: form['Url'] });
  else return bad(20001, 'Unsupported by the emulator');
  return { status: 200, body: call.record() };
}
