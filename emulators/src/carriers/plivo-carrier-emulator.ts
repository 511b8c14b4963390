import { randomBytes, randomUUID } from 'node:crypto';
import { systemClock, type Clock } from '@parley/shared/time/clock';
import { openCarrierAccount } from './carrier-account.ts';
import { basicAuthorization, type CarrierApiRequest } from './carrier-api.ts';
import type {
  CarrierEmulator,
  CarrierEmulatorDescriptor,
  PlaceCallOptions,
  Reach,
} from '../callers/emulated-call.ts';
import type { HttpAnswer } from '../server/emulator-server.ts';
import { PlivoCall } from './plivo-call.ts';
import { NumberStock } from './number-stock.ts';
import { PlivoComplaints } from './plivo-complaints.ts';
import { Conferences } from './conferences.ts';
import { PlivoNumbers } from './plivo-numbers.ts';
import { PlivoDials, plivoError } from './plivo-dials.ts';

/**
 * An emulated Plivo: posts the signed answer webhook, obeys the answer XML (Stream, Dial, Redirect, Wait, Hangup),
 * speaks the stream protocol, serves the call API (dial, find, hang up, transfer) and complaints, and posts signed
 * callbacks. No account, and a telephone network of its own.
 */
export async function openPlivoCarrierEmulator(
  options: {
    authId?: string | undefined;
    authToken?: string | undefined;
    reach?: Reach | undefined;
    clock?: Clock | undefined;
  } = {},
): Promise<CarrierEmulator & { readonly complaints: PlivoComplaints }> {
  const { authId = newAuthId(), authToken = newAuthToken(), reach, clock = systemClock } = options;
  const account = `/v1/Account/${authId}/`;
  const credentials = { authId, authToken, conferences: new Conferences() };
  const dials = new PlivoDials({ account, credentials, reach, clock });
  const complaints = new PlivoComplaints(account);
  const stock = new NumberStock(randomUUID, clock);
  const numbers = new PlivoNumbers(account, stock);
  const opened = await openCarrierAccount<PlivoCall, PlaceCallOptions>({
    name: 'plivo',
    credentials: { auth_id: authId, auth_token: authToken },
    authorization: basicAuthorization(authId, authToken),
    refusal: (status) => plivoError(status === 401 ? 'authentication failed' : 'refused by the emulator'),
    account: {
      path: account,
      body: () => ({ api_id: randomUUID(), auth_id: authId, name: 'Emulated account' }),
    },
    clock,
    numbers: stock,
    route: (request, calls) =>
      dials.answer(request, calls) ?? numbers.answer(request, calls.conditions) ?? complaints.answer(request),
    findCall({ path }) {
      const [, callId, resource = ''] =
        /^Call\/([^/]+)\/(?:([A-Za-z]+)\/)?$/.exec(
          path.startsWith(account) ? path.slice(account.length) : '',
        ) ?? [];
      return callId === undefined ? undefined : { callId, resource };
    },
    notFound: () => plivoError('call not found'),
    command,
    dial: (place, conditions) => new PlivoCall({ reach, ...place }, credentials, conditions),
  });
  return { ...opened, complaints };
}

const newAuthId = () => `MAEMULATED${randomBytes(5).toString('hex').toUpperCase()}`;
const newAuthToken = () => randomBytes(20).toString('hex');

export const plivo: CarrierEmulatorDescriptor = {
  newAccount: () => ({ auth_id: newAuthId(), auth_token: newAuthToken() }),
  open: ({ auth_id, auth_token }, reach) =>
    openPlivoCarrierEmulator({ authId: auth_id, authToken: auth_token, reach }),
};

/** What can be done to a live call; carriers 1.6. */
function command(call: PlivoCall, resource: string, request: CarrierApiRequest): HttpAnswer {
  const body = request.body === '' ? {} : (JSON.parse(request.body) as Record<string, unknown>);
  switch (`${request.method} ${resource}`) {
    case 'DELETE ':
      call.end('api');
      return { status: 204 };
    case 'POST ':
      if (typeof body['aleg_url'] !== 'string') break;
      call.transfer(body['aleg_url']);
      return {
        status: 202,
        body: { api_id: randomUUID(), message: 'call transferred', call_uuids: [call.callId] },
      };
    case 'POST DTMF':
      if (typeof body['digits'] !== 'string') break;
      call.heardDigits(body['digits']);
      return { status: 200, body: { api_id: randomUUID(), message: 'digits sent' } };
    case 'DELETE Stream':
      call.stopStream();
      return { status: 204 };
  }
  return { status: 400, body: plivoError('unsupported by the emulator') };
}
