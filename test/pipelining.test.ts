import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import { serveInOrder } from '../api/requests-ahead.js';
import { eventually } from './support/eventually.js';

describe('requests that a client sends ahead on one connection', () => {
  let server: Server;
  const sockets: Socket[] = [];

  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  async function serve(respond: (req: IncomingMessage, res: ServerResponse) => void): Promise<void> {
    server = createServer(serveInOrder(respond));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }

  function send(requests: string) {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    sockets.push(socket);
    const connection = { received: '', closed: false };
    socket.setEncoding('latin1').on('data', (data) => {
      connection.received += data;
    });
    socket
      .on('error', () => undefined)
      .on('close', () => {
        connection.closed = true;
      });
    socket.write(requests);
    return connection;
  }

  const get = (path: string | number) => `GET /${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const bodiesOf = ({ received }: { received: string }) =>
    [...received.matchAll(/^\[([^\]]*)\]$/gm)].map(([, body]) => body);

  test('are served in order and one at a time, and other connections in between', async () => {
    const held: (() => void)[] = [];
    let inProgress = 0;
    let most = 0;
    await serve((req, res) => {
      inProgress += 1;
      most = Math.max(most, inProgress);
      const end = () => {
        inProgress -= 1;
        res.end(`[${req.url}]\n`);
      };
      if (req.url === '/0') held.push(end);
      else setImmediate(end);
    });
    const paths = Array.from({ length: 100 }, (_, n) => n);
    const pipelined = send(paths.map(get).join(''));
    await eventually('the first request', () => held.length > 0);
    const other = send(get('other'));
    await eventually('the other response', () => bodiesOf(other).length === 1);
    expect([pipelined.received, most]).toEqual(['', 2]);
    held[0]!();
    await eventually('all responses', () => bodiesOf(pipelined).length === paths.length);
    expect(bodiesOf(pipelined)).toEqual(paths.map((n) => `/${n}`));
    expect(most).toBe(2);
  });

  test('arrive with their bodies', async () => {
    await serve(async (req, res) => res.end(`[${(await text(req)).length}]\n`));
    const size = 300_000;
    const post = `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${size}\r\n\r\n${'x'.repeat(size)}`;
    const connection = send(post.repeat(5));
    await eventually('all responses', () => bodiesOf(connection).length === 5);
    expect(bodiesOf(connection)).toEqual(Array(5).fill(`${size}`));
  });

  test('are dropped with their connection when too many wait; others are served', async () => {
    const served: string[] = [];
    await serve((req, res) => {
      served.push(req.url!);
      if (req.url === '/other') res.end('[other]\n');
    });
    const connection = send(get('x').repeat(1_000));
    await eventually('the closed connection', () => connection.closed);
    const other = send(get('other'));
    await eventually('the other response', () => bodiesOf(other).length === 1);
    expect(served).toEqual(['/x', '/other']);
  });
});
