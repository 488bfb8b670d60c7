/** Checks of a URL that someone else chose, before any request is sent. */
import { isIP } from 'node:net';
import { type AllowedCidr, judgeAddress } from '../../domain/address-rules.js';
import { BlockedAddressError } from '../../domain/outbound.js';

/** Long enough for presigned file URLs. */
const MAX_URL_LENGTH = 8192;

/** These names always mean loopback and are never sent to a resolver (RFC 6761). */
const LOOPBACK_NAME = /(^|\.)(localhost|localhost\.localdomain|localhost6|ip6-localhost|ip6-loopback)$/;
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/**
 * Parses a URL and checks its scheme, its spelling and, where the host is an IP address, that address. The checks work on
 * the WHATWG parser's result, which has already normalised decimal, octal, hexadecimal, percent-encoded and full-width
 * spellings of an address.
 * @throws BlockedAddressError with a reason that may be shown to the sender of the URL
 */
export function readTarget(text: string, allowedCidrs: readonly AllowedCidr[]): URL {
  const url = text.length <= MAX_URL_LENGTH && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw new BlockedAddressError('not a valid URL');
  const plain = url.protocol === 'http:';
  if (url.protocol !== 'https:' && !(plain && allowedCidrs.length > 0)) {
    throw new BlockedAddressError('only https URLs are allowed');
  }
  if (url.username !== '' || url.password !== '') throw new BlockedAddressError('a URL must not contain credentials');
  // The trailing dot of a fully qualified name would split connection pools and break TLS server names.
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  const host = hostOf(url);
  if (host === '' || host.split('.').includes('')) throw new BlockedAddressError('not a valid host name');
  if (isIP(host) !== 0 || isLoopbackName(host)) addressesToConnect(host, literalAddresses(host), plain, allowedCidrs);
  return url;
}

/** The host without the brackets of an IPv6 address. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** The addresses of a host that needs no resolver: an IP address or a loopback name. Empty for any other name. */
export function literalAddresses(host: string): string[] {
  if (isIP(host) !== 0) return [host];
  return isLoopbackName(host) ? LOOPBACK_ADDRESSES : [];
}

/**
 * Selects the addresses to connect to. One blocked address blocks the whole name, because a name with public and private
 * addresses is a common attack. Loopback names are the exception: one allowed address of the two is enough.
 * @param plain true for http, which is allowed for opened ranges only
 * @throws BlockedAddressError; its message names no resolved address, which would reveal the internal network
 */
export function addressesToConnect(
  host: string,
  addresses: readonly string[],
  plain: boolean,
  allowedCidrs: readonly AllowedCidr[],
): string[] {
  const isAllowed = (address: string) => reasonAgainst(address, plain, allowedCidrs) === undefined;
  const candidates = isLoopbackName(host) && addresses.some(isAllowed) ? addresses.filter(isAllowed) : addresses;
  for (const address of candidates) {
    const reason = reasonAgainst(address, plain, allowedCidrs);
    if (reason !== undefined) throw new BlockedAddressError(explain(host, reason));
  }
  return [...candidates];
}

function explain(host: string, reason: string): string {
  if (reason === PLAIN_HTTP) return 'only https URLs are allowed';
  return isIP(host) !== 0 ? `${host} is blocked (${reason})` : `${host} resolves to a blocked address (${reason})`;
}

const PLAIN_HTTP = 'plain http';

function reasonAgainst(address: string, plain: boolean, allowedCidrs: readonly AllowedCidr[]): string | undefined {
  const verdict = judgeAddress(address, allowedCidrs);
  if (!verdict.allowed) return verdict.reason;
  return plain && !verdict.opened ? PLAIN_HTTP : undefined;
}

function isLoopbackName(host: string): boolean {
  return LOOPBACK_NAME.test(host);
}
