import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type IndexingEvent, verifyIndexingWebhook } from '../receiver/index.js';

/** A receiver as its owner would write it: verifies the raw body, answers quickly, keeps what it was told. */
export async function startDemoReceiver() {
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    try {
      receiver.received.push(verifyIndexingWebhook(Buffer.concat(pieces), request.headers, receiver.secret));
      response.writeHead(204).end();
    } catch {
      receiver.refused += 1;
      response.writeHead(401).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/indexing`,
    secret: '',
    received: [] as IndexingEvent[],
    refused: 0,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
}
