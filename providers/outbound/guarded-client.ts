/** The guarded client: every request to an address that someone else chose goes through here (docs/decisions/0007). */
import { isIP, type LookupFunction } from 'node:net';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Agent, buildConnector, type Dispatcher } from 'undici';
import type { AllowedCidr } from '../../domain/address-rules.js';
import { BlockedAddressError, type OutboundClient, OutboundError } from '../../domain/outbound.js';
import { cancelled, describeFailure, timedOut } from './failure.js';
import { createLookup, type Lookup } from './resolve.js';
import { addressesToConnect, hostOf, literalAddresses, readTarget } from './target.js';

export interface OutboundClientOptions {
  /** Ranges opened for development and tests, by https and plain http; empty in production. */
  allowedCidrs: readonly AllowedCidr[];
  /** All addresses of a name; the machine's name servers by default. */
  lookup?: Lookup;
  /** Exchanges with one origin at a time; further ones wait, and their timeout runs. Unlimited unless given. */
  maxConnectionsPerOrigin?: number;
  /** Certificate authorities (PEM) to trust in place of the built-in ones. Verification cannot be switched off. */
  tls?: { ca?: string | string[] };
}

/** Sent when a request names no User-Agent of its own. */
const USER_AGENT = 'Postback/1.0';
/** Below the idle limit of common servers, so that a pooled connection is rarely closed under a request. */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MAX_MS = 60_000;
/** For the socket alone: it may outlive the request that wanted it, and then serves the next. */
const CONNECT_TIMEOUT_MS = 10_000;
/** How long one of several addresses is tried before the next; the usual 250 ms gives up distant receivers. */
const NEXT_ADDRESS_MS = 1_500;
const MAX_HEADER_BYTES = 16_384;
const CHECK_LOOKUP_MS = 5_000;
/** How long the beginning of an answer is waited for where only an excerpt is wanted. */
const EXCERPT_MS = 1_000;

/**
 * An `OutboundClient` that speaks https (plain http to opened ranges only), follows no redirects, and judges every address
 * where the socket is opened, so that a name that resolves differently the second time gains nothing. Connections are
 * pooled by origin; a pooled one is the very socket that was judged.
 */
export function createOutboundClient(options: OutboundClientOptions): OutboundClient {
  const { allowedCidrs, lookup = createLookup() } = options;
  const resolve = async (host: string, plain: boolean): Promise<string[]> => {
    const literal = literalAddresses(host);
    return addressesToConnect(host, literal.length > 0 ? literal : await lookup(host), plain, allowedCidrs);
  };
  const agent = new Agent({
    connect: guardedConnector(resolve, options.tls),
    // Origins are shared by strangers: one whose requests hang must not take the connections of another's.
    connections: options.maxConnectionsPerOrigin ?? null,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MAX_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The timeout of the whole exchange rules; these would only cut long ones short.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  const target = (url: URL, headers: Record<string, string>) => ({
    origin: url.origin,
    path: `${url.pathname}${url.search}`,
    headers: { 'user-agent': USER_AGENT, ...lowerCase(headers) },
  });

  return {
    async send(request) {
      const url = readTarget(request.url, allowedCidrs);
      return within(request, async (signal) => {
        const answer = await agent.request({
          ...target(url, request.headers),
          method: request.method,
          body: request.body,
          signal,
        });
        const { excerpt, maxResponseBytes } = request;
        const body = await (excerpt
          ? readExcerpt(answer.body, maxResponseBytes)
          : readUpTo(answer.body, maxResponseBytes));
        return { status: answer.statusCode, headers: joinValues(answer.headers), body };
      });
    },
    async download(request) {
      try {
        const url = readTarget(request.url, allowedCidrs);
        return await within(request, async (signal) => {
          const { statusCode, headers, body } = await agent.request({
            ...target(url, request.headers ?? {}),
            method: 'GET',
            signal,
          });
          const answer = { status: statusCode, headers: joinValues(headers) };
          if (statusCode >= 200 && statusCode < 300) {
            await pipeline(body, limitedTo(request.maxBytes), request.to, { signal });
          } else {
            await readUpTo(body, 0);
            request.to.destroy();
          }
          return answer;
        });
      } catch (error) {
        request.to.destroy();
        throw error;
      }
    },
    async check(text) {
      const url = readTarget(text, allowedCidrs);
      const stopWaiting = new AbortController();
      // A name that cannot be resolved now says nothing about its addresses; only a verdict on one is a refusal.
      const verdict = resolve(hostOf(url), url.protocol === 'http:').catch((error: unknown) => {
        const failure = describeFailure(error);
        if (failure.name === 'BlockedAddressError') throw failure;
        // Plain http is for opened addresses only, and this one is not known to be one.
        if (url.protocol === 'http:') throw new BlockedAddressError('only https URLs are allowed');
      });
      const enough = delay(CHECK_LOOKUP_MS, undefined, { signal: stopWaiting.signal }).catch(() => {});
      await Promise.race([verdict, enough]).finally(() => stopWaiting.abort());
    },
    close: () => agent.destroy(),
  };
}

type Resolve = (host: string, plain: boolean) => Promise<string[]>;

/** Opens sockets to judged addresses only. Node asks `lookup` for names alone, so addresses in place of names are judged before. */
function guardedConnector(resolve: Resolve, tls: OutboundClientOptions['tls']): buildConnector.connector {
  const connectorFor = (plain: boolean) =>
    buildConnector({
      ca: tls?.ca,
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

/** `dns.lookup` as sockets want it, answering with judged addresses only: what is connected to is what was judged. */
function guardedLookup(resolve: Resolve, plain: boolean): LookupFunction {
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

/** Runs an exchange within its time limit. @throws BlockedAddressError or OutboundError */
async function within<T>(
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
  exchange: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw cancelled();
  const stop = new AbortController();
  const cancel = () => stop.abort(cancelled());
  const timer = setTimeout(() => stop.abort(timedOut(timeoutMs)), timeoutMs);
  signal?.addEventListener('abort', cancel, { once: true });
  try {
    return await Promise.race([exchange(stop.signal), rejectionOf(stop.signal)]);
  } catch (error) {
    throw describeFailure(stop.signal.aborted ? stop.signal.reason : error);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

/** A request that still waits for its connection would notice the signal only once it has one, and then not be sent. */
function rejectionOf(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Leaving the loop early destroys the stream and with it the connection: nothing more is read, however much is sent. */
async function readUpTo(body: AsyncIterable<Buffer>, limit: number): Promise<Buffer> {
  const kept: Buffer[] = [];
  await keepUpTo(body, limit, kept);
  return Buffer.concat(kept);
}

async function keepUpTo(body: AsyncIterable<Buffer>, limit: number, kept: Buffer[]): Promise<void> {
  let room = limit;
  for await (const chunk of body) {
    kept.push(chunk.subarray(0, room));
    if (chunk.length > room) break;
    room -= chunk.length;
  }
}

/** What comes soon: the status has decided already, and a body that drips or breaks off changes nothing about it. */
async function readExcerpt(body: AsyncIterable<Buffer> & { destroy(): void }, limit: number): Promise<Buffer> {
  const kept: Buffer[] = [];
  const stop = new AbortController();
  const reading = keepUpTo(body, limit, kept).catch(() => undefined);
  const enough = delay(EXCERPT_MS, undefined, { signal: stop.signal }).catch(() => undefined);
  await Promise.race([reading, enough]);
  stop.abort();
  return Buffer.concat(kept);
}

/** Lets so many bytes pass, and fails at the first one more. */
function limitedTo(maxBytes: number): Transform {
  let room = maxBytes;
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      room -= piece.length;
      if (room < 0) done(new OutboundError('ETOOLARGE', `it is over ${maxBytes} bytes`));
      else done(null, piece);
    },
  });
}

/** The origin alone decides the Host header. */
function lowerCase(headers: Record<string, string>): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(entries.filter(([name]) => name !== 'host'));
}

function joinValues(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : (value ?? '')]),
  );
}
