import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Respond } from './case.js';

/** A foreign server on loopback. */
export async function serveForeign(respond: Respond) {
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    respond(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close(): Promise<void> {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Sends a response of 2 million spaces, each in a chunk of its own. */
export function sendChunksOfOneByte(socket: Socket, contentType: string): void {
  socket.write(`HTTP/1.1 200 OK\r\nContent-Type: ${contentType}\r\nTransfer-Encoding: chunked\r\n\r\n`);
  const piece = Buffer.from('1\r\n \r\n'.repeat(10_000));
  let left = 200;
  const more = () => {
    while (left > 0 && !socket.destroyed && socket.write(piece)) left -= 1;
    if (left <= 0) socket.end('0\r\n\r\n');
  };
  socket.on('drain', more).on('error', () => undefined);
  more();
}
