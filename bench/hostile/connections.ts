import { setMaxListeners } from 'node:events';
import type { HostileCase } from './case.js';
import { head, JSON_TYPE, sendRaw, summarise, trickle } from './send.js';

const CONNECTIONS = 200;
/** For connections with a key, which stay open for longer; what they cost the others shows after seconds. */
const LONG_ENOUGH_MS = 15_000;

function longEnough(): AbortSignal {
  const signal = AbortSignal.timeout(LONG_ENOUGH_MS);
  setMaxListeners(0, signal);
  return signal;
}

/** A case that opens many connections and sends slowly on each. */
const slow = (
  what: string,
  start: (target: Parameters<typeof head>[0]) => string,
  piece: string,
  limited = false,
): HostileCase => ({
  name: `connection: ${what}, ${CONNECTIONS} times`,
  prepare: (target) => () => {
    const signal = limited ? longEnough() : target.signal;
    const open = () =>
      sendRaw({ ...target, signal }, (socket) => {
        socket.write(start(target));
        if (piece !== '') trickle(socket, piece, 500);
      });
    return many(CONNECTIONS, open);
  },
});

/** Requests that are sent slowly. */
export const CONNECTION_CASES: readonly HostileCase[] = [
  slow('nothing is sent', () => '', ''),
  slow('headers that trickle', () => 'GET /databases HTTP/1.1\r\nHost: localhost\r\n', 'X-Slow: 1\r\n'),
  slow(
    'bodies that trickle without a key',
    (target) => head({ ...target, key: 'none' }, 'POST /query', { 'Content-Length': 1_000_000 }),
    ' ',
  ),
  slow(
    'bodies that trickle with a key',
    (target) => head(target, 'POST /query', { ...JSON_TYPE, 'Content-Length': 1_000_000 }),
    ' ',
    true,
  ),
  slow(
    'forms that trickle with a key',
    (target) =>
      `${head(target, 'POST /context/ingest', {
        'Content-Type': 'multipart/form-data; boundary=b',
        'Content-Length': 1_000_000,
      })}--b\r\nContent-Disposition: form-data; name="memories"\r\n\r\n`,
    ' ',
    true,
  ),
  {
    name: 'connection: 50 with 400 pipelined requests each',
    prepare: (target) => () =>
      many(50, () =>
        sendRaw({ ...target, signal: longEnough() }, (socket) => {
          socket.write(head(target, 'GET /databases').repeat(399));
          socket.write(head(target, 'GET /databases', { Connection: 'close' }));
        }),
      ),
  },
  {
    name: 'connection: 1,500 at once',
    prepare: (target) => () => many(1_500, () => sendRaw({ ...target, signal: longEnough() }, () => undefined)),
  },
];

async function many(count: number, send: () => Promise<string>): Promise<string> {
  return summarise(await Promise.all(Array.from({ length: count }, send)));
}
