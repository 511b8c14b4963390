import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address belongs to a host on the public internet: not a private, loopback, link-local, shared,
 * documentation or otherwise special one, nor one that stands for an IPv4 address.
 * @see IANA IPv4 and IPv6 Special-Purpose Address Registries
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.process(address);
  if (parsed.range() !== 'unicast') return false;
  // Global unicast is 2000::/3 (RFC 4291); `::127.0.0.1` would pass for unicast otherwise.
  return parsed.kind() === 'ipv4' || (parsed.toByteArray()[0]! & 0xe0) === 0x20;
}
