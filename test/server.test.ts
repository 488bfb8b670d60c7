import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import Koa from 'koa';
import { createApiServer } from '../api/server.js';
import { newItemId } from '../domain/ids.js';

test('a connection whose client reads nothing of a large response is closed', async () => {
  const limits = { slowRequestSeconds: 0.25, connectionsPerAddress: 0, trustedProxies: [] };
  const size = 64 * 1024 * 1024;
  let closed!: () => void;
  const ended = new Promise<void>((resolve) => {
    closed = resolve;
  });
  const server = createApiServer((_req, res) => {
    res.once('close', closed);
    res.end(Buffer.alloc(size));
  }, limits).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  client.on('error', () => undefined);
  client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await ended;
  let received = 0;
  client.on('data', (data) => {
    received += data.length;
  });
  await once(client.resume(), 'close');
  expect(received).toBeLessThan(size);
  server.close();
});

test('a query may name a thousand ids', async () => {
  const limits = { slowRequestSeconds: 10, connectionsPerAddress: 0, trustedProxies: [] };
  const server = createApiServer((req, res) => res.end(String(req.url!.length)), limits).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const ids = Array.from({ length: 1_000 }, () => `ids=${newItemId()}`);
  const url = `/context/status?${ids.join('&')}`;
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${url}`);
  expect([response.status, await response.text()]).toEqual([200, String(url.length)]);
  server.closeAllConnections();
  server.close();
});

test.each(['http://[/databases', 'ftp://[x', '//a@[#', '//a@[/x#', '/\\a@[#', '/databases#', 'ftp://x/databases'])(
  'the target %s, which has no path to read, is rejected with 400',
  async (target) => {
    const app = new Koa();
    app.silent = true;
    app.use((ctx) => {
      ctx.body = ctx.path;
    });
    const limits = { slowRequestSeconds: 10, connectionsPerAddress: 0, trustedProxies: [] };
    const server = createApiServer(app.callback(), limits).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const ask = (what: string) => {
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      client.write(`GET ${what} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      return text(client);
    };
    expect(await ask(target)).toMatch(/^HTTP\/1\.1 400 /);
    for (const good of ['/databases', 'http://x/databases', '//a@[/databases'])
      expect(await ask(good)).toMatch(/^HTTP\/1\.1 200 [\s\S]*\/databases$/);
    server.close();
  },
);
