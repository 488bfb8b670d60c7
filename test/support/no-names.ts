/**
 * Loaded before the processes of test products (`--import`): names of hosts are unknown to them, so that no test sends
 * anything to the internet, whatever addresses it registers.
 */
import { Resolver } from 'node:dns/promises';

const unknown = (hostname: string) =>
  Promise.reject(Object.assign(new Error(`the tests know no host ${hostname}`), { code: 'ENOTFOUND', hostname }));
Object.assign(Resolver.prototype, { resolve4: unknown, resolve6: unknown });
