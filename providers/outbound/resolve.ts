/** Names to addresses. */
import { Resolver } from 'node:dns/promises';

/** All addresses of a name, IPv4 and IPv6. @throws with a DNS `code` when there are none */
export type Lookup = (hostname: string) => Promise<string[]>;

/** A name server that does not answer is given up after about 2 × 2.5 s. */
const QUERY = { timeout: 2500, tries: 2 };

/**
 * Asks the name servers directly. `getaddrinfo` would hold one of the process's few threads while a hostile name server
 * keeps silent, and would also read the machine's own hosts file, which outsiders' names have no business with.
 * @param servers addresses of name servers; without them the machine's own
 */
export function createLookup(servers?: string[]): Lookup {
  const resolver = new Resolver(QUERY);
  if (servers) resolver.setServers(servers);
  return async (hostname) => {
    const [ipv4, ipv6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    const found = [ipv4, ipv6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (found.length === 0 && ipv4.status === 'rejected') throw ipv4.reason;
    return found;
  };
}
