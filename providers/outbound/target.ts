/** Reading a URL that someone else chose: what can be refused before anything is sent. */
import { isIP } from 'node:net';
import { type AllowedCidr, judgeAddress } from '../../domain/address-rules.js';
import { BlockedAddressError } from '../../domain/outbound.js';

/** Long enough for presigned file addresses. */
const MAX_URL_LENGTH = 8192;

/** Never asked of a resolver (RFC 6761): these names mean loopback, whatever an answer says. */
const LOOPBACK_NAME = /(^|\.)(localhost|localhost\.localdomain|localhost6|ip6-localhost|ip6-loopback)$/;
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/**
 * The URL, when its scheme, spelling and, for an address in place of a name, its address allow speaking to it.
 * Works on the WHATWG parser's result, so decimal, octal, hexadecimal, percent-encoded and full-width spellings of an
 * address have already become the address.
 * @throws BlockedAddressError with a reason that may be shown to whoever gave the URL
 */
export function readTarget(text: string, allowedCidrs: readonly AllowedCidr[]): URL {
  const url = text.length <= MAX_URL_LENGTH && URL.canParse(text) ? new URL(text) : undefined;
  if (!url) throw new BlockedAddressError('not a valid URL');
  const plain = url.protocol === 'http:';
  if (url.protocol !== 'https:' && !(plain && allowedCidrs.length > 0)) {
    throw new BlockedAddressError('only https URLs are allowed');
  }
  if (url.username !== '' || url.password !== '') throw new BlockedAddressError('a URL must not carry credentials');
  // The dot that ends a fully qualified name would part connection pools and puzzle TLS servers.
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

/** The addresses that a host stands for without asking a resolver; empty for an ordinary name. */
export function literalAddresses(host: string): string[] {
  if (isIP(host) !== 0) return [host];
  return isLoopbackName(host) ? LOOPBACK_ADDRESSES : [];
}

/**
 * Of the addresses that a host stands for, those to connect to: all of them or none, because one bad address among good
 * ones is how a name is made to cheat. (Loopback names are the exception: either of their two addresses will do.)
 * @param plain true for http, which is spoken to opened ranges only
 * @throws BlockedAddressError; it names no address, since it could tell an outsider about the network inside
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
  return isIP(host) !== 0 ? `${host} is blocked (${reason})` : `${host} leads to a blocked address (${reason})`;
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
