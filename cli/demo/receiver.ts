import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type IndexingEvent, verifyIndexingWebhook } from '../../receiver/index.js';

/** A webhook receiver as a user would write it: it verifies the raw body, responds quickly, and stores the event. */
export async function startDemoReceiver() {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    try {
      receiver.events.push(verifyIndexingWebhook(Buffer.concat(chunks), request.headers, receiver.secret));
      response.writeHead(204).end();
    } catch {
      receiver.rejected += 1;
      response.writeHead(401).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/indexing`,
    secret: '',
    events: [] as IndexingEvent[],
    rejected: 0,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
