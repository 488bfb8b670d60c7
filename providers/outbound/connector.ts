/** Name lookup and sockets of the guarded client: a socket is only ever opened to an address that was checked. */
import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Agent, buildConnector, Pool, ProxyAgent } from 'undici';
import type { OutboundClientOptions } from './guarded-client.js';

/** Resolves a name to all its addresses, IPv4 and IPv6. @throws with a DNS `code` when there are none */
export type Lookup = (hostname: string) => Promise<string[]>;

/**
 * Resolves a host to the addresses that may be connected to.
 * @param plain true for http, which is allowed for opened ranges only
 * @throws BlockedAddressError
 */
export type ResolveAllowed = (host: string, plain: boolean) => Promise<string[]>;

type Tls = OutboundClientOptions['tls'];

/** A name server that does not respond is given up after about 2 × 2.5 s. */
const QUERY = { timeout: 2500, tries: 2 };
/**
 * Lookups at a time. c-ares searches the 65,536 ids of DNS for a free one, and never ends when there is none: clients name up to a
 * hundred hosts in a request, whose name servers may stay silent.
 */
const MAX_LOOKUPS = 4_000;
/** For the socket alone, which may outlive its request and then serves the next one; behind a proxy, for the proxy's answer too. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long one of several addresses is tried before the next. Node's default of 250 ms is too short for distant receivers. */
const NEXT_ADDRESS_MS = 1_500;

/**
 * Queries the name servers directly. `getaddrinfo` would block one of the process's few threads while a hostile name server
 * stays silent, and would read the machine's own hosts file, which names from outside must not use.
 * @param servers addresses of name servers; the machine's own when left out
 */
export function createLookup(servers?: string[]): Lookup {
  const resolver = new Resolver(QUERY);
  if (servers) resolver.setServers(servers);
  let running = 0;
  return async (hostname) => {
    if (running >= MAX_LOOKUPS) throw Object.assign(new Error('too many lookups'), { code: 'ETIMEOUT' });
    running += 1;
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    running -= 1;
    const found = [ipv4, ipv6].flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
    if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason;
    return found;
  };
}

/** Opens sockets to allowed addresses only. Node calls `lookup` for names alone, so IP addresses are checked beforehand. */
export function guardedConnector(resolve: ResolveAllowed, tls: Tls): buildConnector.connector {
  const connectorFor = (plain: boolean) =>
    buildConnector({
      ca: tls?.ca,
      allowH2: false,
      timeout: CONNECT_TIMEOUT_MS,
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
      lookup: guardedLookup(resolve, plain),
    } as buildConnector.BuildOptions);
  const connectors = { 'http:': connectorFor(true), 'https:': connectorFor(false) };
  return (options, callback) => {
    const connect = connectors[options.protocol === 'http:' ? 'http:' : 'https:'];
    if (isIP(options.hostname) === 0) return connect(options, callback);
    resolve(options.hostname, options.protocol === 'http:').then(
      () => connect(options, callback),
      (error: Error) => callback(error, null),
    );
  };
}

/** `dns.lookup` for sockets, with allowed addresses only: the socket connects to the address that was checked. */
function guardedLookup(resolve: ResolveAllowed, plain: boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, plain).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const first = found[0];
        if (!first) callback(Object.assign(new Error('no address'), { code: 'ENOTFOUND' }), '');
        else if (options.all) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error: Error) => callback(error, ''),
    );
  };
}

/**
 * How the guarded client reaches receivers through an egress proxy: https through tunnels (CONNECT), one for each connection, and plain
 * http in the absolute form.
 * @param url of the proxy, http or https, with credentials where the proxy needs them
 * @param connections options of every connection
 */
export function createProxyDispatcher(url: string, tls: Tls, connections: Agent.Options): ProxyAgent {
  return new ProxyAgent({
    ...connections,
    uri: url,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(tls ? { requestTls: { ca: tls.ca } } : {}),
    // Requests for tunnels have a limit of their own, because no request of ours runs yet.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
    factory: (origin, options: Pool.Options) => new Pool(origin, { ...connections, ...options }),
  });
}
