import t from 'tap';
import { addressKey, clientAddress, trustedProxies } from './client-address.ts';

void t.test('only what a trusted proxy says is believed', async (t) => {
  const trusted = trustedProxies(['10.0.0.0/8', '::1', '192.0.2.1']);
  const cases: [peer: string, forwarded: string | undefined, client: string][] = [
    ['203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.1.1.1', '198.51.100.1', '198.51.100.1'],
    ['10.1.1.1', '6.6.6.6, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['10.1.1.1', 'unknown', '10.1.1.1'],
    ['10.1.1.1', undefined, '10.1.1.1'],
    ['::1', '2001:db8::1', '2001:db8::1'],
    ['0000:0000:0000:0000:0000:0000:0000:0001', '198.51.100.1', '198.51.100.1'],
    ['0000:0000:0000:0000:0000:ffff:0a01:0101', '198.51.100.1', '198.51.100.1'],
  ];
  for (const [peer, forwarded, client] of cases) t.equal(clientAddress(peer, forwarded, trusted), client);
});

void t.test('an IPv6 host counts with its whole network', async (t) => {
  t.equal(addressKey('2001:db8:1:2:3:4:5:6'), addressKey('2001:db8:1:2:ffff::1'));
  t.not(addressKey('2001:db8:1:2::1'), addressKey('2001:db8:1:3::1'));
  t.not(addressKey('2001:db8::1'), addressKey('2001:db9::1'));
  t.equal(addressKey('203.0.113.9'), '203.0.113.9');
});
