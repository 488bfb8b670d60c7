import type { IncomingMessage } from 'node:http';
import { type AllowedCidr, addressKey, isInRanges } from '../domain/address-rules.js';

/** Proxies in one request. */
const MAX_HOPS = 20;

/**
 * The address by which requests are limited: that of the socket, or behind trusted proxies the last address in
 * `X-Forwarded-For` that is not of a trusted proxy. Clients write the part of the header before it.
 * @param trusted ranges of the proxies that set the header
 * @returns an IPv4 address, or the /64 network of an IPv6 address, which one client can use as a whole
 */
export function clientAddress({ socket, headers }: IncomingMessage, trusted: readonly AllowedCidr[]): string {
  let address = socket.remoteAddress ?? '';
  const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MAX_HOPS).reverse();
  for (const hop of forwarded) {
    const next = withoutPort(hop.trim());
    if (!isInRanges(address, trusted) || addressKey(next) === null) break;
    address = next;
  }
  return addressKey(address) ?? address;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop;
}
