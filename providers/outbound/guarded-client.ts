/** The guarded client: every request to an address that someone else chose goes through it (docs/decisions/outbound-requests.md). */
import { setTimeout as delay } from 'node:timers/promises';
import { Agent } from 'undici';
import type { AllowedCidr } from '../../domain/address-rules.js';
import { BlockedAddressError, type OutboundClient } from '../../domain/outbound.js';
import { createLookup, createProxyDispatcher, guardedConnector, type Lookup } from './connector.js';
import { download } from './download.js';
import { exchange } from './exchange.js';
import { describeFailure } from './failure.js';
import { addressesToConnect, hostOf, literalAddresses, readTarget } from './target.js';

export interface OutboundClientOptions {
  /** Ranges opened for development and tests, for https and plain http. Empty in production. */
  allowedCidrs: readonly AllowedCidr[];
  /** Resolves names; the machine's name servers by default. */
  lookup?: Lookup;
  /** Concurrent exchanges with one origin. Further ones wait while their timeout runs. Unlimited by default. */
  maxConnectionsPerOrigin?: number;
  /** URL of an egress proxy that all requests pass. It resolves the names, so it must have rules of its own. */
  proxy?: string | undefined;
  /** Certificate authorities (PEM) to trust instead of the built-in ones. Verification cannot be switched off. */
  tls?: { ca?: string | string[] };
}

/** Sent when a request has no User-Agent of its own. */
const USER_AGENT = 'Postback/1.0';
/** Below the idle limit of common servers, so that they rarely close a pooled connection while a request uses it. */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MAX_MS = 60_000;
const MAX_HEADER_BYTES = 16_384;
const CHECK_LOOKUP_MS = 5_000;

/**
 * An `OutboundClient` that uses https (plain http for opened ranges only) and follows no redirects. It checks every
 * address where the socket is opened, so a name that resolves differently the second time gains nothing. Connections are
 * pooled by origin; a pooled connection stays with the address that was checked. Behind a proxy, names are checked before each request,
 * and the proxy resolves them again.
 */
export function createOutboundClient(options: OutboundClientOptions): OutboundClient {
  const { allowedCidrs, lookup = createLookup() } = options;
  const resolve = async (host: string, plain: boolean): Promise<string[]> => {
    const literal = literalAddresses(host);
    return addressesToConnect(host, literal.length > 0 ? literal : await lookup(host), plain, allowedCidrs);
  };
  /** A name that cannot be resolved now is not rejected; a name that resolves to a blocked address is. */
  const permit = async (url: URL): Promise<void> => {
    const plain = url.protocol === 'http:';
    try {
      await resolve(hostOf(url), plain);
    } catch (error) {
      const failure = describeFailure(error);
      if (failure.name === 'BlockedAddressError') throw failure;
      // Plain http is for opened addresses only, and the address of this name is unknown.
      if (plain) throw new BlockedAddressError('only https URLs are allowed');
    }
  };
  const connections: Agent.Options = {
    // Unrelated registrations share an origin: hanging requests of one must not take the connections of another.
    connections: options.maxConnectionsPerOrigin ?? null,
    pipelining: 1,
    // A request that times out closes its connection of HTTP/1.1. Over HTTP/2 it would end its stream alone, and a connection that is
    // dead would get the next requests, too.
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The timeout of the whole exchange applies; these would only cut long exchanges short.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  const { proxy, tls } = options;
  const agent = proxy
    ? createProxyDispatcher(proxy, tls, connections)
    : new Agent({ ...connections, connect: guardedConnector(resolve, tls) });

  return {
    async send(request) {
      const { method, headers, body = null } = request;
      const target = await targetOf(request.url);
      return exchange(agent, { ...target, headers: lowerCase(headers), method, body }, request);
    },
    async download(request) {
      const { url, headers = {}, to } = request;
      // It may be destroyed before its file is open, and then fails with nobody listening.
      to.on('error', () => undefined);
      try {
        const get = { ...(await targetOf(url)), headers: lowerCase(headers), method: 'GET' } as const;
        return await download(agent, get, request);
      } finally {
        to.destroy();
      }
    },
    async check(text) {
      const url = readTarget(text, allowedCidrs);
      const stopWaiting = new AbortController();
      const verdict = permit(url);
      const enough = delay(CHECK_LOOKUP_MS, undefined, { signal: stopWaiting.signal }).catch(() => {});
      await Promise.race([verdict, enough]).finally(() => stopWaiting.abort());
    },
    close: () => agent.destroy(),
  };

  /** Checks the URL of a request. A proxy opens the socket to the receiver, so behind it the address is checked here, too. */
  async function targetOf(text: string): Promise<{ origin: string; path: string }> {
    const url = readTarget(text, allowedCidrs);
    if (proxy) await permit(url);
    return { origin: url.origin, path: `${url.pathname}${url.search}` };
  }
}

/** Headers in lower case, without Host, which is the URL's, and with a User-Agent. */
function lowerCase(headers: Record<string, string>): Record<string, string> {
  const lower: Record<string, string> = { 'user-agent': USER_AGENT };
  for (const name in headers) {
    const key = name.toLowerCase();
    if (key !== 'host') lower[key] = headers[name]!;
  }
  return lower;
}
