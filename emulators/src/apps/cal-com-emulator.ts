import { randomBytes } from 'node:crypto';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { openEmulatorServer, readBody } from '../server/emulator-server.ts';
import type { EmulatorExchange, HttpAnswer } from '../server/emulator-server.ts';
import { COMMON_FAULTS, FaultPlan } from '../server/faults.ts';

/** An account with bookings. */
export interface CalComEmulator extends AsyncDisposable {
  readonly url: string;
  /** Keys that are good. */
  readonly keys: Set<string>;
  readonly bookings: Record<string, unknown>[];
  /** Headers of what came. */
  readonly versions: (string | undefined)[];
  setFaults(faults: unknown): void;
}

const MAX_BYTES = 64 * 1024;

/**
 * An emulated Cal.com: what of its API v2 an account with an API key needs. Every operation wants its own version in the
 * header `cal-api-version`; where it is another, the vendor answers in an older form, and this one refuses.
 * @see https://cal.com/docs/api-reference/v2/introduction
 */
export async function openCalComEmulator(options: { keys: readonly string[] }): Promise<CalComEmulator> {
  const faults = new FaultPlan(COMMON_FAULTS, seededRandom(1));
  const keys = new Set(options.keys);
  const bookings: Record<string, unknown>[] = [];
  const versions: (string | undefined)[] = [];

  async function onRequest({ request, url }: EmulatorExchange): Promise<HttpAnswer> {
    const body = (await readBody(request, MAX_BYTES)).toString();
    const { authorization = '', 'cal-api-version': version } = request.headers;
    versions.push(version as string | undefined);
    if (!keys.has(authorization.replace(/^Bearer /, ''))) return error(401, 'UnauthorizedException');
    const json = body === '' ? {} : (JSON.parse(body) as Record<string, unknown>);
    const route = `${request.method} ${url.pathname}`;
    if (route === 'GET /v2/me')
      return success({ id: 7, username: 'asha', email: 'asha@example.com', timeZone: 'Europe/Berlin' });
    if (route === 'GET /v2/slots') {
      const start = url.searchParams.get('start') ?? '';
      if (version !== '2024-09-04' || !/^\d+$/.test(url.searchParams.get('eventTypeId') ?? ''))
        return error(400, 'BadRequestException');
      return success({ [start.slice(0, 10)]: [{ start: `${start.slice(0, 10)}T09:00:00.000Z` }] });
    }
    if (version !== '2024-08-13') return error(400, 'BadRequestException');
    if (route === 'POST /v2/bookings') {
      const attendee = json['attendee'] as { name?: string; email?: string; timeZone?: string } | undefined;
      if (!attendee?.name || !attendee.email || !attendee.timeZone || typeof json['eventTypeId'] !== 'number')
        return error(400, 'BadRequestException');
      const booking = { uid: randomBytes(8).toString('hex'), status: 'accepted', ...json };
      bookings.push(booking);
      return { ...success(booking), status: 201 };
    }
    const [, uid, what] = /^POST \/v2\/bookings\/([^/]+)\/(reschedule|cancel)$/.exec(route) ?? [];
    const booking = bookings.find((one) => one['uid'] === uid);
    if (!booking) return error(404, 'NotFoundException');
    Object.assign(booking, what === 'cancel' ? { status: 'cancelled' } : { start: json['start'] });
    return success(booking);
  }

  const server = await openEmulatorServer({
    name: 'cal_com',
    faults,
    stats: () => ({ bookings: bookings.length }),
    refusal: (status) => error(status, 'InternalServerErrorException'),
    onRequest,
  });
  return {
    url: server.url,
    keys,
    bookings,
    versions,
    setFaults: (list) => faults.set(list),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function success(data: object): HttpAnswer & { status: number } {
  return { status: 200, body: { status: 'success', data } };
}

function error(status: number, code: string): HttpAnswer {
  return { status, body: { status: 'error', error: { code, message: `${code} (emulated)` } } };
}
