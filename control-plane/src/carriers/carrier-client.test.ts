import tls from 'node:tls';
import t from 'tap';
import { MockAgent } from 'undici';
import { openEmulatorServer } from '@parley/emulators/server/emulator-server';
import { COMMON_FAULTS, FaultPlan } from '@parley/emulators/server/faults';
import { hasOpenssl, makeCertificate } from '@parley/emulators/server/make-certificate';
import { systemClock } from '@parley/shared/time/clock';
import { seededRandom } from '@parley/shared/values/seeded-random';
import type { DialAnswer } from './carrier-dialling.ts';
import { CarrierClient } from './carrier-client.ts';

void t.test(
  'a carrier that offers HTTP/2 is asked over HTTP/1.1',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const certificate = await makeCertificate(t.testdir());
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert]);
    const carrier = await openEmulatorServer({
      name: 'carrier',
      faults: new FaultPlan(COMMON_FAULTS, seededRandom(1)),
      stats: () => ({}),
      refusal: (status) => ({ status }),
      onRequest: async ({ request }) => ({ status: 200, body: request.httpVersion }),
      tls: certificate,
    });
    t.teardown(() => carrier[Symbol.asyncDispose]());
    const client = new CarrierClient({
      carrier: 'telnyx',
      baseUrl: carrier.url,
      authorization: 'Bearer of-a-test',
      clock: systemClock,
    });
    t.equal(await client.call({ method: 'POST', path: '/calls', json: {} }), '1.1');
  },
);

const failed = (code: string, syscall?: string) => Object.assign(new Error(code), { code, syscall });

void t.test('what is known of a dial, by what came back', async (t) => {
  const agent = new MockAgent();
  agent.disableNetConnect();
  t.teardown(() => agent.close());
  const carrier = agent.get('https://carrier.test');
  const client = new CarrierClient({
    carrier: 'telnyx',
    baseUrl: 'https://carrier.test',
    authorization: 'Bearer of-a-test',
    dispatcher: agent,
    clock: systemClock,
  });
  const dial = () =>
    client.dial(
      { method: 'POST', path: '/calls', json: {} },
      {
        placed: (body) => ({ carrierCallId: body, requestId: null }),
        refused: (body, status) => ({ failure: 'invalid_number', cause: `${status} ${body}` }),
      },
    );
  const statuses: [status: number, answer: Partial<DialAnswer>][] = [
    [200, { placed: 'yes', carrierCallId: 'body' }],
    [201, { placed: 'yes', carrierCallId: 'body' }],
    [302, { placed: 'unknown' }],
    [400, { placed: 'no', code: 'refused', cause: '400 body', again: false }],
    [401, { placed: 'no', code: 'auth', again: false }],
    [403, { placed: 'no', code: 'auth', again: false }],
    [408, { placed: 'unknown' }],
    [422, { placed: 'no', code: 'refused', failure: 'invalid_number', again: false }],
    [429, { placed: 'no', code: 'rate_limit', again: true }],
    [500, { placed: 'unknown', code: 'unavailable' }],
    [502, { placed: 'unknown', code: 'unavailable' }],
    [504, { placed: 'unknown', code: 'unavailable' }],
  ];
  for (const [status, answer] of statuses) {
    carrier.intercept({ path: '/calls', method: 'POST' }).reply(status, 'body');
    t.match(await dial(), answer, String(status));
  }
  const refused = failed('ECONNREFUSED', 'connect');
  const errors: [name: string, error: Error, placed: DialAnswer['placed']][] = [
    ['nobody listens', refused, 'no'],
    ['no such name', failed('ENOTFOUND', 'getaddrinfo'), 'no'],
    ['no connection in time', failed('UND_ERR_CONNECT_TIMEOUT'), 'no'],
    ['no address takes connections', new AggregateError([refused, refused]), 'no'],
    ['the host is gone in the middle', failed('EHOSTUNREACH', 'read'), 'unknown'],
    ['the connection broke', failed('ECONNRESET', 'read'), 'unknown'],
    ['it closed without an answer', failed('UND_ERR_SOCKET'), 'unknown'],
    ['one address may have it', new AggregateError([refused, failed('EPIPE', 'write')]), 'unknown'],
  ];
  for (const [name, error, placed] of errors) {
    carrier.intercept({ path: '/calls', method: 'POST' }).replyWithError(error);
    t.match(await dial(), { placed, again: placed === 'no' ? true : undefined }, name);
  }
});
