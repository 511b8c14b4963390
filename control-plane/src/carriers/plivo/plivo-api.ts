import type { Dispatcher } from 'undici';
import { systemClock, type Clock } from '@parley/shared/time/clock';
import { CarrierClient } from '../carrier-client.ts';

const PLIVO_API_URL = 'https://api.plivo.com';

export interface PlivoCredentials {
  authId: string;
  authToken: string;
}

export interface PlivoApiOptions {
  clock?: Clock;
  apiBaseUrl?: string | undefined;
  dispatcher?: Dispatcher | undefined;
  onUnauthorized?: (() => void) | undefined;
}

/** The REST API of one account at Plivo. */
export interface PlivoApi {
  client: CarrierClient;
  /** Path of the account, without a slash at its end. */
  account: string;
}

export function openPlivoApi(
  { authId, authToken }: PlivoCredentials,
  options: PlivoApiOptions = {},
): PlivoApi {
  return {
    client: new CarrierClient({
      carrier: 'plivo',
      baseUrl: options.apiBaseUrl ?? PLIVO_API_URL,
      authorization: `Basic ${Buffer.from(`${authId}:${authToken}`).toString('base64')}`,
      dispatcher: options.dispatcher,
      clock: options.clock ?? systemClock,
      onUnauthorized: options.onUnauthorized,
    }),
    account: `/v1/Account/${encodeURIComponent(authId)}`,
  };
}
