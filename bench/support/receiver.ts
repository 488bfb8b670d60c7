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
  // Without an iterator over the body, which costs more than the rest: the receiver has the same cores as the product.
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const status = respond(Buffer.concat(chunks), request.headers);
      if (status !== null) response.writeHead(status).end();
    });
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

export interface CountingReceiver extends BenchReceiver {
  count(): number;
  /** Resolves when the count has reached the target. */
  reached(target: number): Promise<void>;
}

/** Starts a receiver that accepts and counts all callbacks. */
export async function startCountingReceiver(): Promise<CountingReceiver> {
  let count = 0;
  let waiting: { target: number; done: () => void } | undefined;
  const receiver = await startReceiver(() => {
    count += 1;
    if (waiting && count >= waiting.target) waiting.done();
    return 204;
  });
  return {
    ...receiver,
    count: () => count,
    reached: (target) =>
      new Promise((done) => {
        if (count >= target) done();
        else waiting = { target, done };
      }),
  };
}
