import t from 'tap';
import { trustedProxies } from '@parley/shared/http/client-address';
import { silentLogger } from '@parley/shared/logging/logger';
import { ManualClock } from '@parley/shared/time/manual-clock';
import { RefusedCredentials } from './refused-credentials.ts';
import { AdmissionError } from './session-source.ts';

const invalid = new AdmissionError('credential_invalid');
const unsigned = new AdmissionError('signature_invalid');

function refused(perMinute: number) {
  const clock = new ManualClock();
  const trusted = trustedProxies(['127.0.0.1']);
  return {
    clock,
    limits: new RefusedCredentials({ perMinute, trustedProxies: trusted, clock, logger: silentLogger() }),
  };
}

void t.test('an address may guess so often a minute, and again as time passes', (t) => {
  const { clock, limits } = refused(3);
  for (let i = 0; i < 3; i++) {
    t.notOk(limits.mayNotAsk('a'));
    limits.note('a', `digest ${i}`, i === 1 ? unsigned : invalid);
  }
  t.ok(limits.mayNotAsk('a'));
  t.notOk(limits.mayNotAsk('b'), 'others are not concerned');
  clock.advance(20_000);
  t.notOk(limits.mayNotAsk('a'), 'a third of a minute is worth one');
  limits.note('a', 'digest', invalid);
  t.ok(limits.mayNotAsk('a'));
  clock.advance(600_000);
  for (let i = 0; i < 3; i++) limits.note('a', 'digest', invalid);
  t.ok(limits.mayNotAsk('a'), 'what is not used up does not add up');
  t.end();
});

void t.test('what says nothing about the credential does not count', (t) => {
  const { limits } = refused(1);
  for (const code of ['in_use', 'session_over', 'limit', 'unavailable', 'origin_refused'] as const)
    limits.note('a', code, new AdmissionError(code));
  limits.note('a', 'other', new Error('invalid answer'));
  t.notOk(limits.mayNotAsk('a'));
  t.notOk(limits.knows('in_use'));
  t.end();
});

void t.test(
  'a credential that is none is known for a minute, one with a bad signature is asked about',
  (t) => {
    const { clock, limits } = refused(0);
    limits.note('a', 'none', invalid);
    limits.note('a', 'unsigned', unsigned);
    t.ok(limits.knows('none'));
    t.notOk(limits.knows('unsigned'));
    clock.advance(59_000);
    limits.note('a', 'none', invalid);
    clock.advance(1000);
    t.notOk(limits.knows('none'), 'asking again makes it no longer');
    for (let i = 0; i < 10_001; i++) limits.note(`address ${i}`, `digest ${i}`, invalid);
    t.notOk(limits.knows('digest 0'), 'so many are remembered');
    t.ok(limits.knows('digest 1'));
    t.notOk(limits.mayNotAsk('a'), '0 is no limit');
    t.end();
  },
);

void t.test('the address is the client’s, as trusted proxies tell it', (t) => {
  const { limits } = refused(1);
  const from = (remoteAddress: string, forwarded: string) =>
    limits.addressOf({
      remoteAddress,
      headers: new Map([['x-forwarded-for', forwarded]]),
      target: '/',
      query: '',
      params: [],
    });
  t.equal(from('127.0.0.1', '6.6.6.6, 203.0.113.9'), '203.0.113.9');
  t.equal(from('203.0.113.9', '6.6.6.6'), '203.0.113.9');
  t.equal(from('127.0.0.1', '2001:db8:1:2::1'), from('127.0.0.1', '2001:db8:1:2::2'));
  t.end();
});
