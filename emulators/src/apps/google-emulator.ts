import { randomBytes } from 'node:crypto';
import type { Clock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { openEmulatorServer, readBody } from '../server/emulator-server.ts';
import type { EmulatorExchange, HttpAnswer } from '../server/emulator-server.ts';
import { COMMON_FAULTS, FaultPlan } from '../server/faults.ts';
import { OAuthServer } from './oauth-server.ts';

/** An account with a calendar and spreadsheets. */
export interface GoogleEmulator extends AsyncDisposable {
  readonly url: string;
  readonly oauth: OAuthServer;
  /** Events of the calendar, as they were sent. */
  readonly events: Record<string, unknown>[];
  /** Rows of every spreadsheet. */
  readonly rows: unknown[][];
  setFaults(faults: unknown): void;
}

const MAX_BYTES = 64 * 1024;

/**
 * An emulated Google: OAuth for web servers, and of the Calendar API v3 and the Sheets API v4 what its account needs. All
 * hosts of the vendor are one origin here. Refresh tokens stay the same, access tokens live an hour, a token that is not
 * good gets 401. @see https://developers.google.com/identity/protocols/oauth2/web-server
 */
export async function openGoogleEmulator(options: {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  clock?: Clock;
}): Promise<GoogleEmulator> {
  const faults = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  const oauth = new OAuthServer({
    ...options,
    issuer: 'https://accounts.google.com',
    tokenLifeSeconds: 3599,
    rotates: false,
    requiresPkce: false,
    prefix: 'ya29.',
  });
  const events: Record<string, unknown>[] = [];
  const rows: unknown[][] = [];

  async function onRequest({ request, url }: EmulatorExchange): Promise<HttpAnswer> {
    const body = (await readBody(request, MAX_BYTES)).toString();
    switch (`${request.method} ${url.pathname}`) {
      case 'GET /o/oauth2/v2/auth':
        return oauth.authorize(url);
      case 'POST /token':
        return oauth.token(new URLSearchParams(body));
      case 'POST /revoke':
        return oauth.revoke(new URLSearchParams(body));
    }
    if (!oauth.admits(request.headers.authorization)) return error(401, 'UNAUTHENTICATED');
    const json = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    return (
      calendar(request.method ?? '', url, json) ??
      sheets(request.method ?? '', url, json) ??
      error(404, 'NOT_FOUND')
    );
  }

  function calendar(method: string, url: URL, json: Record<string, unknown>): HttpAnswer | undefined {
    if (method === 'POST' && url.pathname === '/calendar/v3/freeBusy') {
      const busy = events.map(({ start, end }) => ({ start: timeOf(start), end: timeOf(end) }));
      return { status: 200, body: { kind: 'calendar#freeBusy', calendars: { primary: { busy } } } };
    }
    const [, id] = /^\/calendar\/v3\/calendars\/primary\/events(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    if (!url.pathname.startsWith('/calendar/v3/calendars/primary/events')) return undefined;
    if (method === 'GET') return { status: 200, body: { summary: 'asha@example.com', items: events } };
    if (method === 'POST') {
      const event = { id: randomBytes(8).toString('hex'), status: 'confirmed', ...json };
      events.push(event);
      return { status: 200, body: event };
    }
    const index = events.findIndex((event) => event['id'] === id);
    if (method !== 'DELETE' || index < 0) return undefined;
    events.splice(index, 1);
    return { status: 204 };
  }

  function sheets(method: string, url: URL, json: Record<string, unknown>): HttpAnswer | undefined {
    const [, range, append] =
      /^\/v4\/spreadsheets\/[^/]+\/values\/([^/]+?)(:append)?$/.exec(url.pathname) ?? [];
    if (range === undefined) return undefined;
    if (method === 'GET') return { status: 200, body: { range: decodeURIComponent(range), values: rows } };
    if (method !== 'POST' || append === undefined) return undefined;
    rows.push(...(json['values'] as unknown[][]));
    return { status: 200, body: { updates: { updatedRows: 1 } } };
  }

  const server = await openEmulatorServer({
    name: 'google',
    faults,
    stats: () => ({ renewals: oauth.renewals, revocations: oauth.revocations, events: events.length }),
    refusal: (status) => error(status, 'UNAVAILABLE'),
    onRequest,
  });
  return {
    url: server.url,
    oauth,
    events,
    rows,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function timeOf(point: unknown): unknown {
  return (point as { dateTime?: unknown } | undefined)?.dateTime;
}

function error(code: number, status: string): HttpAnswer {
  return { status: code, body: { error: { code, message: `${status} (emulated)`, status } } };
}
