import { BlockList, isIP, SocketAddress } from 'node:net';

/** Addresses and CIDR ranges whose `X-Forwarded-For` is believed. */
export function trustedProxies(entries: readonly string[]): BlockList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/**
 * The client's address: the socket's, or behind trusted proxies the last one in the chain that is not one of them.
 * @param peer address of the socket's other side
 * @param forwarded the request's `X-Forwarded-For`, if it has one
 */
export function clientAddress(peer: string, forwarded: string | undefined, trusted: BlockList): string {
  let address = plain(peer);
  const chain = (forwarded ?? '').split(',').map((part) => part.trim());
  while (isTrusted(address, trusted)) {
    const previous = plain(chain.pop() ?? '');
    if (isIP(previous) === 0) break;
    address = previous;
  }
  return address;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? 'ipv6' : 'ipv4');
}

/** One way of writing each address; IPv4 in IPv6 (RFC 4291, section 2.5.5.2) as IPv4. */
function plain(text: string): string {
  const address = isIP(text) === 6 ? new SocketAddress({ address: text, family: 'ipv6' }).address : text;
  return address.startsWith('::ffff:') && isIP(address.slice(7)) === 4 ? address.slice(7) : address;
}

/** What a limit counts: an IPv4 address, or the /64 an IPv6 host has to itself. */
export function addressKey(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = ''] = address.split('::');
  return head.split(':').slice(0, 4).join(':');
}
