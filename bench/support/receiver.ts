import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface BenchReceiver {
  url: string;
  close(): Promise<void>;
}

/**
 * Starts a receiver of callbacks on loopback.
 * @param respond returns the status code of the response, or null to never respond
 */
export async function startReceiver(
  respond: (body: Buffer, headers: IncomingHttpHeaders) => number | null,
): Promise<BenchReceiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const status = respond(Buffer.concat(chunks), request.headers);
    if (status !== null) response.writeHead(status).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
