import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReluctantReceiver {
  url: string;
  /** How often each delivery that comes from now on is refused with 503 before it is taken. */
  refuse(times: number): void;
  close(): Promise<void>;
}

/** A receiver of webhooks that has to be asked more than once. */
export async function startReluctantReceiver(): Promise<ReluctantReceiver> {
  let refusals = 0;
  const seen = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['x-service-delivery-id']);
    const attempts = (seen.get(id) ?? 0) + 1;
    seen.set(id, attempts);
    request.resume().once('end', () => response.writeHead(attempts > refusals ? 204 : 503).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    refuse(times) {
      refusals = times;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
