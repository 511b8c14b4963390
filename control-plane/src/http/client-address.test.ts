import type { IncomingMessage } from 'node:http';
import t from 'tap';
import { addressKey, clientAddress, trustedProxies } from './client-address.ts';

const from = (remoteAddress: string, forwarded?: string) =>
  ({
    socket: { remoteAddress },
    headers: { ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
  }) as unknown as IncomingMessage;

void t.test('only what a trusted proxy says is believed', async (t) => {
  const trusted = trustedProxies(['10.0.0.0/8', '::1', '192.0.2.1']);
  const cases: [IncomingMessage, string][] = [
    [from('203.0.113.9', '198.51.100.1'), '203.0.113.9'],
    [from('10.1.1.1', '198.51.100.1'), '198.51.100.1'],
    [from('::ffff:10.1.1.1', '198.51.100.1'), '198.51.100.1'],
    [from('10.1.1.1', '6.6.6.6, 198.51.100.1, 10.9.9.9'), '198.51.100.1'],
    [from('10.1.1.1', 'unknown'), '10.1.1.1'],
    [from('10.1.1.1'), '10.1.1.1'],
    [from('::1', '2001:db8::1'), '2001:db8::1'],
  ];
  for (const [request, expected] of cases) t.equal(clientAddress(request, trusted), expected);
});

void t.test('an IPv6 host counts with its whole network', async (t) => {
  t.equal(addressKey('2001:db8:1:2:3:4:5:6'), addressKey('2001:db8:1:2:ffff::1'));
  t.not(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  t.not(addressKey('2001:db8::1'), addressKey('2001:db9::1'));
  t.equal(addressKey('203.0.113.9'), '203.0.113.9');
});
