import tls from 'node:tls';
import t from 'tap';
import { seededRandom } from '@parley/emulators/server/delays';
import { openEmulatorServer } from '@parley/emulators/server/emulator-server';
import { COMMON_FAULTS, FaultPlan } from '@parley/emulators/server/faults';
import { hasOpenssl, makeCertificate } from '@parley/emulators/server/make-certificate';
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
    });
    t.equal(await client.call({ method: 'POST', path: '/calls', json: {} }), '1.1');
  },
);
