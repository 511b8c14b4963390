import { randomBytes, randomUUID } from 'node:crypto';
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

/**
 * An emulated Plivo: posts the signed answer webhook, obeys the answer XML (Stream, Dial, Redirect, Wait, Hangup),
 * speaks the stream protocol, serves the part of the call API that a live call needs, and posts the signed hang-up.
 * No account, no telephone network.
 */
export async function openPlivoCarrierEmulator(
  options: { authId?: string | undefined; authToken?: string | undefined; reach?: Reach | undefined } = {},
): Promise<CarrierEmulator> {
  const { authId = newAuthId(), authToken = newAuthToken() } = options;
  const account = `/v1/Account/${authId}/`;
  return openCarrierAccount<PlivoCall, PlaceCallOptions>({
    name: 'plivo',
    credentials: { auth_id: authId, auth_token: authToken },
    authorization: basicAuthorization(authId, authToken),
    refusal: (status) => plivoError(status === 401 ? 'authentication failed' : 'refused by the emulator'),
    account: {
      path: account,
      body: () => ({ api_id: randomUUID(), auth_id: authId, name: 'Emulated account' }),
    },
    findCall({ path }) {
      const [, callId, resource = ''] =
        /^Call\/([^/]+)\/(?:([A-Za-z]+)\/)?$/.exec(
          path.startsWith(account) ? path.slice(account.length) : '',
        ) ?? [];
      return callId === undefined ? undefined : { callId, resource };
    },
    notFound: () => plivoError('call not found'),
    command,
    dial: (place) => new PlivoCall({ reach: options.reach, ...place }, { authId, authToken }),
  });
}

const newAuthId = () => `MAEMULATED${randomBytes(5).toString('hex').toUpperCase()}`;
const newAuthToken = () => randomBytes(20).toString('hex');

export const plivo: CarrierEmulatorDescriptor = {
  newAccount: () => ({ auth_id: newAuthId(), auth_token: newAuthToken() }),
  open: ({ auth_id, auth_token }, reach) =>
    openPlivoCarrierEmulator({ authId: auth_id, authToken: auth_token, reach }),
};

const plivoError = (error: string) => ({ api_id: randomUUID(), error });

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
