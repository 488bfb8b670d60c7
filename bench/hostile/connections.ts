import type { HostileCase } from './case.js';
import { head, sendRaw, summarise, trickle } from './send.js';

const CONNECTIONS = 200;

/** Requests that are sent slowly. */
export const CONNECTION_CASES: readonly HostileCase[] = [
  {
    name: 'connection: headers that trickle, 200 times',
    prepare: (target) => () =>
      many(CONNECTIONS, () =>
        sendRaw(target, (socket) => {
          socket.write('GET /databases HTTP/1.1\r\nHost: localhost\r\n');
          trickle(socket, 'X-Slow: 1\r\n', 1_000);
        }),
      ),
  },
  {
    name: 'connection: bodies that trickle without a key, 200 times',
    prepare: (target) => () =>
      many(CONNECTIONS, () =>
        sendRaw(target, (socket) => {
          socket.write(head({ ...target, key: 'none' }, 'POST /query', { 'Content-Length': 1_000_000 }));
          trickle(socket, ' ', 1_000);
        }),
      ),
  },
];

async function many(count: number, send: () => Promise<string>): Promise<string> {
  return summarise(await Promise.all(Array.from({ length: count }, send)));
}
