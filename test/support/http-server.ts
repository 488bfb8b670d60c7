import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HttpServer {
  /** Without a slash at the end. */
  url: string;
  /** Ends open connections too. */
  close(): Promise<void>;
}

/** An HTTP server on loopback. @param port 0: any free port */
export async function startHttpServer(listener: RequestListener, port = 0): Promise<HttpServer> {
  // Idle connections stay open: a test that blocks the process for seconds would have them closed under a request on its way.
  const server = createServer({ keepAliveTimeout: 0 }, listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
