import { type Agent, Pool, ProxyAgent } from 'undici';

export interface ProxyOptions {
  /** http or https, with credentials where the proxy needs them. */
  url: string;
  /** Certificate authorities to trust for receivers. */
  tls?: { ca?: string | string[] } | undefined;
  /** Options of every connection. */
  agent: Agent.Options;
}

/** For the connection to the proxy, and for its answer. */
const CONNECT_TIMEOUT_MS = 10_000;

/**
 * How the guarded client reaches receivers through an egress proxy: https through tunnels (CONNECT), one for each connection, and plain
 * http in the absolute form.
 */
export function createProxyDispatcher({ url, tls, agent }: ProxyOptions): ProxyAgent {
  return new ProxyAgent({
    ...agent,
    uri: url,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(tls ? { requestTls: { ca: tls.ca } } : {}),
    // Requests for tunnels have a limit of their own, because no request of ours runs yet.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
    factory: (origin, options: Pool.Options) => new Pool(origin, { ...agent, ...options }),
  });
}
