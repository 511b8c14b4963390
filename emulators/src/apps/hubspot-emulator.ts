import type { Clock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { openEmulatorServer, readBody } from '../server/emulator-server.ts';
import type { EmulatorExchange, HttpAnswer } from '../server/emulator-server.ts';
import { COMMON_FAULTS, FaultPlan } from '../server/faults.ts';
import { OAuthServer } from './oauth-server.ts';

/** An account with contacts and deals. */
export interface HubSpotEmulator extends AsyncDisposable {
  readonly url: string;
  readonly oauth: OAuthServer;
  readonly contacts: { id: string; properties: Record<string, string> }[];
  readonly deals: { id: string; properties: Record<string, string> }[];
  setFaults(faults: unknown): void;
}

const MAX_BYTES = 64 * 1024;

/**
 * An emulated HubSpot: its OAuth API of 2026-03, where access tokens live half an hour, and what of the CRM API v3 its
 * account needs. Here PKCE is wanted and each refresh token is good once, the stricter of what such vendors do.
 * @see https://developers.hubspot.com/docs/api-reference/latest/authentication/manage-oauth-tokens
 */
export async function openHubSpotEmulator(options: {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  clock?: Clock;
}): Promise<HubSpotEmulator> {
  const faults = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  const oauth = new OAuthServer({
    ...options,
    tokenLifeSeconds: 1800,
    rotates: true,
    requiresPkce: true,
    prefix: 'CN',
  });
  const contacts: HubSpotEmulator['contacts'] = [];
  const deals: HubSpotEmulator['deals'] = [];

  async function onRequest({ request, url }: EmulatorExchange): Promise<HttpAnswer> {
    const body = (await readBody(request, MAX_BYTES)).toString();
    const route = `${request.method} ${url.pathname}`;
    switch (route) {
      case 'GET /oauth/authorize':
        return oauth.authorize(url);
      case 'POST /oauth/2026-03/token':
        return oauth.token(new URLSearchParams(body));
      case 'POST /oauth/2026-03/token/revoke':
        return oauth.revoke(new URLSearchParams(body));
    }
    if (!oauth.admits(request.headers.authorization)) return error(401, 'EXPIRED_AUTHENTICATION');
    const json = (body === '' ? {} : JSON.parse(body)) as {
      query?: string;
      properties?: Record<string, string>;
    };
    const { properties = {} } = json;
    switch (route) {
      case 'GET /account-info/v3/details':
        return { status: 200, body: { portalId: 4711, timeZone: 'Europe/Berlin' } };
      case 'POST /crm/v3/objects/contacts/search': {
        const results = contacts.filter((one) =>
          JSON.stringify(one.properties)
            .toLowerCase()
            .includes((json.query ?? '').toLowerCase()),
        );
        return { status: 200, body: { total: results.length, results } };
      }
      case 'POST /crm/v3/objects/contacts': {
        if (contacts.some((one) => one.properties['email'] === properties['email']))
          return error(409, 'CONFLICT');
        const contact = { id: String(100 + contacts.length), properties };
        contacts.push(contact);
        return { status: 201, body: contact };
      }
      case 'POST /crm/v3/objects/deals': {
        const deal = { id: String(900 + deals.length), properties };
        deals.push(deal);
        return { status: 201, body: deal };
      }
    }
    const [, id] = /^PATCH \/crm\/v3\/objects\/contacts\/(\d+)$/.exec(route) ?? [];
    const contact = contacts.find((one) => one.id === id);
    if (!contact) return error(404, 'OBJECT_NOT_FOUND');
    Object.assign(contact.properties, properties);
    return { status: 200, body: contact };
  }

  const server = await openEmulatorServer({
    name: 'hubspot',
    faults,
    stats: () => ({ renewals: oauth.renewals, revocations: oauth.revocations, contacts: contacts.length }),
    refusal: (status) => error(status, 'INTERNAL_ERROR'),
    onRequest,
  });
  return {
    url: server.url,
    oauth,
    contacts,
    deals,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function error(status: number, category: string): HttpAnswer {
  return { status, body: { status: 'error', message: `${category} (emulated)`, category } };
}
