import { setTimeout as wait } from 'node:timers/promises';
import { call } from '../support/api-client.js';
import { createDatabase, ingest } from '../support/work.js';
import type { HostileCase, Respond } from './case.js';

const NOTES = 40;
/** How long the deliveries are observed: their first attempts time out by then. */
const OBSERVED_MS = 20_000;

/** A case with an organisation whose receiver responds like this to the webhooks of its notes. */
const receiver = (what: string, respond: Respond): HostileCase => ({
  name: `receiver: ${what}`,
  async prepare(target) {
    const org = `receiver-${what.replaceAll(/\W/g, '-')}`;
    const access = { apiUrl: target.apiUrl, key: await target.createKey('api', org) };
    let attempts = 0;
    const url = await target.serve((request, response) => {
      attempts += 1;
      request.resume();
      respond(request, response);
    });
    await call(access, 'POST', '/webhooks/indexing', { url });
    await createDatabase(access, 'notes');
    return async () => {
      const notes = Array.from({ length: NOTES }, (_, n) => ({ id: `${n}`, text: `Note ${n}.` }));
      await ingest(access, 'notes', 'memories', notes);
      await wait(OBSERVED_MS, undefined, { signal: target.signal }).catch(() => undefined);
      return `${attempts} attempts`;
    };
  },
});

/** Receivers of webhooks that do not respond as they should. */
export const RECEIVER_CASES: readonly HostileCase[] = [
  receiver('hangs', () => undefined),
  receiver('trickles', (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'), 500);
    response.once('close', () => clearInterval(timer));
  }),
  receiver('responds with 100 MB', (_request, response) => {
    response.writeHead(200);
    const piece = Buffer.alloc(1024 * 1024, 0x78);
    let left = 100;
    const more = () => {
      while (left > 0 && !response.destroyed && response.write(piece)) left -= 1;
      if (left <= 0) response.end();
    };
    response.on('drain', more);
    more();
  }),
  receiver('announces its response 200,000 times', ({ socket }) => {
    socket
      .on('error', () => undefined)
      .end(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(200_000)}HTTP/1.1 200 OK\r\n\r\n`);
  }),
  receiver('redirects to itself', (_request, response) => response.writeHead(307, { Location: '/' }).end()),
  receiver('closes the connection', (_request, response) => response.destroy()),
  receiver('sends garbage headers', ({ socket }) => {
    socket.end(`HTTP/1.1 200 OK\r\n${'\x00: \xff\r\n'.repeat(100_000)}`, 'latin1');
  }),
  receiver('sends a head of 16 kB', (_request, response) => {
    response.writeHead(503, { 'Retry-After': '9'.repeat(14_000) }).end();
  }),
];
