/** The road of the guarded client through an egress proxy. */
import { type Agent, Pool, ProxyAgent } from 'undici';

export interface ProxyOptions {
  /** http or https, with credentials where the proxy needs them. */
  url: string;
  /** Certificate authorities to trust for receivers. */
  tls?: { ca?: string | string[] } | undefined;
  /** Options of every connection. */
  agent: Agent.Options;
  /**
   * Called before each tunnel is opened: the proxy resolves the name again, so this is a check and not a bond.
   * @throws BlockedAddressError
   */
  permit(host: string): Promise<void>;
}

/** For the connection to the proxy, and for its answer. */
const CONNECT_TIMEOUT_MS = 10_000;

/** Sends https through tunnels (CONNECT), one for each connection, and plain http in the absolute form. */
export function createProxyDispatcher({ url, tls, agent, permit }: ProxyOptions): ProxyAgent {
  return new ProxyAgent({
    ...agent,
    uri: url,
    connectTimeout: CONNECT_TIMEOUT_MS,
    ...(tls ? { requestTls: { ca: tls.ca } } : {}),
    // Requests for tunnels have a limit of their own, because no request of ours runs yet.
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: CONNECT_TIMEOUT_MS }),
    factory: (origin, options: Pool.Options) => new Pool(origin, { ...agent, ...options, connect: permitted(options) }),
  });

  function permitted({ connect }: Pool.Options): Pool.Options['connect'] {
    if (typeof connect !== 'function') return connect;
    const proxyHost = new URL(url).hostname;
    return (options, callback) => {
      // Plain http goes to the proxy itself.
      if (options.hostname === proxyHost) return connect(options, callback);
      permit(options.hostname).then(
        () => connect(options, callback),
        (error: Error) => callback(error, null),
      );
    };
  }
}
