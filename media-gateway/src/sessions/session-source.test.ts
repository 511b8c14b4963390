import tls from 'node:tls';
import t from 'tap';
import { openEmulatorServer } from '@parley/emulators/server/emulator-server';
import { COMMON_FAULTS, FaultPlan } from '@parley/emulators/server/faults';
import { hasOpenssl, makeCertificate } from '@parley/emulators/server/make-certificate';
import { Secret } from '@parley/shared/config/secret';
import { seededRandom } from '@parley/shared/values/seeded-random';
import { SessionSource } from './session-source.ts';

void t.test(
  'a control plane behind a front that offers HTTP/2 is asked over HTTP/1.1',
  { skip: hasOpenssl ? false : 'openssl is not installed' },
  async (t) => {
    const certificate = await makeCertificate(t.testdir());
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert]);
    const asked: string[] = [];
    const front = await openEmulatorServer({
      name: 'front',
      faults: new FaultPlan(COMMON_FAULTS, seededRandom(1)),
      stats: () => ({}),
      refusal: (status) => ({ status }),
      onRequest: async ({ request }) => {
        asked.push(request.httpVersion);
        const expiresAt = new Date(Date.now() + 60_000).toISOString();
        const sessionId = '0195f8a1-7f2a-7000-8000-000000000001';
        return { status: 200, body: { session_id: sessionId, expires_at: expiresAt } };
      },
      tls: certificate,
    });
    const source = new SessionSource({
      internalUrl: front.url,
      token: new Secret('token-of-a-test'),
      gatewayId: 'gw_test',
    });
    t.teardown(async () => {
      await source[Symbol.asyncDispose]();
      await front[Symbol.asyncDispose]();
    });
    await source.check({ kind: 'ticket', digest: '0'.repeat(64) });
    t.same(asked, ['1.1']);
  },
);
