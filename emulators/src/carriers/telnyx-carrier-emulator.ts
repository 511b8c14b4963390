import { generateKeyPairSync, randomBytes, randomInt } from 'node:crypto';
import { systemClock, type Clock } from '@parley/shared/time/clock';
import type { HttpAnswer } from '../server/emulator-server.ts';
import { openCarrierAccount } from './carrier-account.ts';
import type { CarrierApiRequest } from './carrier-api.ts';
import type {
  CarrierEmulator,
  CarrierEmulatorDescriptor,
  EmulatedCall,
  Reach,
} from '../callers/emulated-call.ts';
import { CommandError, TelnyxCall, type TelnyxPlaceCallOptions } from './telnyx-call.ts';
import { NumberStock } from './number-stock.ts';
import { TelnyxNumbers } from './telnyx-numbers.ts';
import { TelnyxDials, telnyxError } from './telnyx-dials.ts';
import { telnyxPrivateKey, telnyxPublicKey } from './telnyx-webhook-signature.ts';

export interface TelnyxCarrierEmulator extends CarrierEmulator {
  placeCall(options: TelnyxPlaceCallOptions): Promise<EmulatedCall>;
}

/**
 * An emulated Telnyx, by Call Control: signed JSON events at one address, commands by REST (dial, answer, reject, hangup,
 * transfer, send_dtmf, streaming_start, streaming_stop), look-ups, and its stream protocol. No account, and a telephone
 * network of its own.
 */
export async function openTelnyxCarrierEmulator(
  options: {
    apiKey?: string | undefined;
    /** Base64 of the 32 bytes of an Ed25519 seed. */
    privateKey?: string | undefined;
    /** Of the application that calls are dialled by. */
    connectionId?: string | undefined;
    reach?: Reach | undefined;
    clock?: Clock | undefined;
  } = {},
): Promise<TelnyxCarrierEmulator> {
  const { connectionId = CONNECTION_ID, reach, clock = systemClock } = options;
  const apiKey = options.apiKey ?? newApiKey();
  const privateKey =
    options.privateKey === undefined
      ? generateKeyPairSync('ed25519').privateKey
      : telnyxPrivateKey(options.privateKey);
  const account = { privateKey, connectionId };
  const dials = new TelnyxDials({ account, reach, clock });
  const stock = new NumberStock(() => String(randomInt(1e9, 1e10)), clock);
  const numbers = new TelnyxNumbers(stock, connectionId);
  return openCarrierAccount<TelnyxCall, TelnyxPlaceCallOptions>({
    name: 'telnyx',
    credentials: { api_key: apiKey, public_key: telnyxPublicKey(privateKey), connection_id: connectionId },
    authorization: `Bearer ${apiKey}`,
    refusal: (status) =>
      status === 401
        ? telnyxError('10009', 'Authentication failed')
        : status === 429
          ? telnyxError('10011', 'Too many requests')
          : telnyxError('10007', 'Refused by the emulator'),
    account: {
      path: '/v2/balance',
      body: () => ({ data: { record_type: 'balance', balance: '0.00', currency: 'USD' } }),
    },
    clock,
    numbers: stock,
    route: (request, calls) =>
      dials.answer(request, calls) ??
      numbers.answer(request, calls.conditions) ??
      targetCommand(request, calls.list()) ??
      bridgeCommand(request, calls.list()),
    findCall: commandedCall,
    notFound: () => telnyxError('10005', 'Resource not found'),
    command,
    dial: (place, conditions) => new TelnyxCall({ reach, ...place }, account, conditions),
    // Commands for a call that has just ended are told so.
    keepEndedMs: 60_000,
  });
}

/** Emulated accounts all have the one application. */
const CONNECTION_ID = '1494404757140276705';

const newApiKey = () => `KEYEMULATED${randomBytes(16).toString('hex')}`;

/** Its account has the private key, which is the carrier's own: it signs with it. */
export const telnyx: CarrierEmulatorDescriptor = {
  newAccount: () => ({ api_key: newApiKey(), private_key: randomBytes(32).toString('base64') }),
  open: ({ api_key, private_key }, reach) =>
    openTelnyxCarrierEmulator({ apiKey: api_key, privateKey: private_key, reach }),
};

function commandedCall({
  method,
  path,
}: CarrierApiRequest): { callId: string; resource: string } | undefined {
  const [, callId, resource] = /^\/v2\/calls\/([^/]+)\/actions\/(\w+)$/.exec(path) ?? [];
  return method !== 'POST' || callId === undefined || resource === undefined
    ? undefined
    : { callId, resource };
}

/** A command for the other leg of a transfer, which is no call of its own here. */
function targetCommand(request: CarrierApiRequest, calls: readonly TelnyxCall[]): HttpAnswer | undefined {
  const found = commandedCall(request);
  const call = found && calls.find((one) => one.isTargetLeg(found.callId));
  return call && commandedBy(request, (body) => call.commandTarget(found.resource, body));
}

/** https://developers.telnyx.com/api/call-control/bridge-call */
function bridgeCommand(request: CarrierApiRequest, calls: readonly TelnyxCall[]): HttpAnswer | undefined {
  const found = commandedCall(request);
  const call = found?.resource === 'bridge' ? calls.find(({ callId }) => callId === found.callId) : undefined;
  return (
    call &&
    commandedBy(request, ({ call_control_id: otherId, ...more }) => {
      const [unknown] = Object.keys(more).filter((name) => name !== 'command_id');
      if (unknown !== undefined)
        throw new CommandError('10015', `${unknown} of bridge is unsupported by the emulator`);
      const other = calls.find(({ callId }) => callId === otherId);
      if (!other) throw new CommandError('10005', 'The call to bridge with was not found');
      call.bridge(other);
    })
  );
}

function command(call: TelnyxCall, action: string, request: CarrierApiRequest): HttpAnswer {
  return commandedBy(request, (body) => call.command(action, body));
}

function commandedBy(request: CarrierApiRequest, run: (body: Record<string, unknown>) => void): HttpAnswer {
  const body = request.body === '' ? {} : (JSON.parse(request.body) as Record<string, unknown>);
  try {
    run(body);
    return { status: 200, body: { data: { result: 'ok' } } };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return { status: 422, body: telnyxError(error.code, 'Unprocessable entity', error.message) };
  }
}
