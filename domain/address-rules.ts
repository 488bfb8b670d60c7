/**
 * The IP addresses that Postback may connect to. Deny by default: everything but public unicast addresses is blocked.
 * Sources: the IANA special-purpose registries of IPv4 and IPv6 (RFC 6890 and its updates).
 */
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.parse>;

/** A range that the operator allows: base address and prefix length. */
export type AllowedCidr = readonly [base: Address, prefixLength: number];

export type AddressVerdict =
  /** `opened`: a range of the operator contains the address, so plain http is allowed too. */
  { allowed: true; opened: boolean } | { allowed: false; reason: string };

type Rule = readonly [reason: string, cidr: string];

const BLOCKED_IPV4: readonly Rule[] = [
  ['unspecified or "this network"', '0.0.0.0/8'],
  ['private network', '10.0.0.0/8'],
  ['carrier-grade NAT', '100.64.0.0/10'],
  ['loopback', '127.0.0.0/8'],
  ['link-local', '169.254.0.0/16'],
  ['private network', '172.16.0.0/12'],
  ['protocol assignments', '192.0.0.0/24'],
  ['documentation', '192.0.2.0/24'],
  ['AS112 sink', '192.31.196.0/24'],
  ['multicast relay', '192.52.193.0/24'],
  ['6to4 relay', '192.88.99.0/24'],
  ['private network', '192.168.0.0/16'],
  ['AS112 sink', '192.175.48.0/24'],
  ['benchmarking', '198.18.0.0/15'],
  ['documentation', '198.51.100.0/24'],
  ['documentation', '203.0.113.0/24'],
  ['multicast', '224.0.0.0/4'],
  ['broadcast', '255.255.255.255/32'],
  ['reserved', '240.0.0.0/4'],
  // A public address, but on Azure the platform agent of every machine, with its keys and certificates.
  ['cloud platform', '168.63.129.16/32'],
];

const IPV6_GLOBAL_UNICAST = '2000::/3';

/** Blocked ranges inside global unicast, and the names of well-known ranges outside it. The rest outside it is "reserved". */
const BLOCKED_IPV6: readonly Rule[] = [
  ['unspecified', '::/128'],
  ['loopback', '::1/128'],
  ['IPv4-compatible', '::/96'],
  ['IPv4-mapped', '::ffff:0:0/96'],
  ['IPv4-translated', '::ffff:0:0:0/96'],
  ['NAT64', '64:ff9b::/96'],
  ['NAT64', '64:ff9b:1::/48'],
  ['discard', '100::/64'],
  ['Teredo', '2001::/32'],
  ['benchmarking', '2001:2::/48'],
  ['documentation', '2001:db8::/32'],
  ['protocol assignments', '2001::/23'],
  ['6to4', '2002::/16'],
  ['AS112 sink', '2620:4f:8000::/48'],
  ['retired 6bone', '3ffe::/16'],
  ['documentation', '3fff::/20'],
  ['segment routing', '5f00::/16'],
  ['private network', 'fc00::/7'],
  ['link-local', 'fe80::/10'],
  ['site-local', 'fec0::/10'],
  ['multicast', 'ff00::/8'],
];

type ParsedRule = readonly [reason: string, range: AllowedCidr];
const parseRules = (rules: readonly Rule[]): ParsedRule[] =>
  rules.map(([reason, cidr]) => [reason, ipaddr.parseCIDR(cidr)]);
const RULES = { ipv4: parseRules(BLOCKED_IPV4), ipv6: parseRules(BLOCKED_IPV6) } as const;
const GLOBAL_UNICAST = ipaddr.parseCIDR(IPV6_GLOBAL_UNICAST);

/**
 * Decides whether Postback may connect to an address.
 * @param text an IPv4 or IPv6 address in its plain spelling; octal, hexadecimal, shortened and zoned forms are rejected
 * @param allowedCidrs ranges that the operator allows. They override all rules, but only for their own address family: an
 *   IPv4 range does not contain an IPv4-mapped address
 */
export function judgeAddress(text: string, allowedCidrs: readonly AllowedCidr[] = []): AddressVerdict {
  const address = parseStrictly(text);
  if (!address) return { allowed: false, reason: 'not an IP address' };
  if (allowedCidrs.some((range) => covers(range, address))) return { allowed: true, opened: true };
  const reason = reasonToBlock(address);
  return reason === undefined ? { allowed: true, opened: false } : { allowed: false, reason };
}

/**
 * Parses the ranges that the operator allows (OUTBOUND_ALLOW_CIDRS).
 * @param text ranges separated by commas or spaces, such as `127.0.0.0/8,::1/128`; empty allows none
 * @throws Error with the invalid entry and the reason
 */
export function parseAllowedCidrs(text: string): AllowedCidr[] {
  return text
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map(parseAllowedCidr);
}

/** Whether an address is in one of the ranges. An IPv4-mapped IPv6 address counts as its IPv4 address. */
export function isInRanges(text: string, ranges: readonly AllowedCidr[]): boolean {
  const address = parsePeer(text);
  return address !== undefined && ranges.some((range) => covers(range, address));
}

/**
 * @returns what identifies the client with this address: the IPv4 address, or the /64 network of an IPv6 address, which
 *   one client can use as a whole; null when the text is not an address
 */
export function addressKey(text: string): string | null {
  const address = parsePeer(text);
  if (!address) return null;
  return address.kind() === 'ipv4' ? address.toString() : `${networkOf(address, 64)}/64`;
}

/** @returns the address, as IPv4 where it is mapped; a text that is no address as it is */
export function unmapped(text: string): string {
  return parsePeer(text)?.toString() ?? text;
}

/** A socket that takes both families has IPv4 peers with mapped addresses. */
function parsePeer(text: string): Address | undefined {
  const address = parseStrictly(text);
  if (address?.kind() !== 'ipv6') return address;
  const ipv6 = address as ipaddr.IPv6;
  return ipv6.isIPv4MappedAddress() ? ipv6.toIPv4Address() : ipv6;
}

function parseAllowedCidr(entry: string): AllowedCidr {
  const invalid = (why: string) => new Error(`"${entry}" is not a valid range: ${why}`);
  const [base = '', length, ...rest] = entry.split('/');
  const address = parseStrictly(base);
  if (!address || rest.length > 0) throw invalid('write an address and a prefix length, such as 127.0.0.0/8');
  const bits = address.kind() === 'ipv4' ? 32 : 128;
  if (length === undefined) throw invalid(`the prefix length is missing; one address is ${base}/${bits}`);
  const prefixLength = /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (!(prefixLength <= bits)) throw invalid(`the prefix length must be between 1 and ${bits}`);
  if (prefixLength === 0) throw invalid('it would allow every address; list only the ranges you need');
  const network = networkOf(address, prefixLength);
  if (network !== address.toString()) {
    throw invalid(`the address has bits set beyond the prefix; write ${network}/${prefixLength}`);
  }
  return [address, prefixLength];
}

/** `ipaddr.js` alone would also accept 0177.1, 2130706433 and fe80::1%eth0: spellings that disguise an address. */
function parseStrictly(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (text.includes(':') && !text.includes('%') && ipaddr.IPv6.isValid(text)) return ipaddr.IPv6.parse(text);
  return undefined;
}

function reasonToBlock(address: Address): string | undefined {
  const named = RULES[address.kind()].find(([, range]) => covers(range, address));
  if (named) return named[0];
  if (address.kind() === 'ipv4') return undefined;
  if (!covers(GLOBAL_UNICAST, address)) return 'reserved';
  return isIsatap(address as ipaddr.IPv6) ? 'ISATAP' : undefined;
}

/** RFC 5214: an interface id of 0000:5efe or 0200:5efe carries an IPv4 address that a router may tunnel to. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return (address.parts[4] === 0 || address.parts[4] === 0x200) && address.parts[5] === 0x5efe;
}

function covers([base, prefixLength]: AllowedCidr, address: Address): boolean {
  return base.kind() === address.kind() && address.match(base, prefixLength);
}

function networkOf(address: Address, prefixLength: number): string {
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return family.networkAddressFromCIDR(`${address.toString()}/${prefixLength}`).toString();
}
