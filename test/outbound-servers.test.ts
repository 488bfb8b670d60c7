import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import type { OutboundClient, OutboundDownload, OutboundRequest, OutboundResponse } from '../domain/outbound.js';
import { exchange } from '../providers/outbound/exchange.js';
import { createOutboundClient, type OutboundClientOptions } from '../providers/outbound/guarded-client.js';
import { selfSigned } from './support/self-signed.js';

/** For requests that must not time out, even on a busy machine. */
const ENOUGH_MS = 60_000;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});

function clientWith(options: Partial<OutboundClientOptions> = {}): OutboundClient {
  const client = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8'), ...options });
  cleanups.push(() => client.close());
  return client;
}

/** Listens on loopback until the test ends; `connections` holds every accepted socket. */
async function listen(server: Server, host = '127.0.0.1') {
  const connections: Socket[] = [];
  server.on('connection', (socket: Socket) => {
    connections.push(socket);
    socket.on('error', () => {});
  });
  server.listen(0, host);
  await once(server, 'listening');
  cleanups.push(async () => {
    for (const socket of connections) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return { port: (server.address() as AddressInfo).port, connections };
}

const responding = (handle: (request: IncomingMessage, response: ServerResponse) => void) =>
  listen(createHttpServer(handle));

/** A TCP server that calls `respond` after the first bytes of a request. */
const raw = (respond: (socket: Socket) => void) =>
  listen(createTcpServer((socket) => socket.once('data', () => respond(socket))));

const post = (client: OutboundClient, url: string, rest: Partial<OutboundRequest> = {}): Promise<OutboundResponse> =>
  client.send({
    method: 'POST',
    url,
    headers: {},
    body: Buffer.from('{}'),
    timeoutMs: ENOUGH_MS,
    maxResponseBytes: 1024,
    ...rest,
  });

/** Writes the same bytes until the other side closes. */
function pour(socket: Socket, bytes: string): void {
  const write = () => {
    while (socket.writable && socket.write(bytes)) {}
  };
  socket.on('drain', write);
  write();
}

describe('an exchange', () => {
  test('sends method, path, headers and body as given, and returns status, headers and body', async () => {
    const { port } = await responding((request, response) => {
      const body: Buffer[] = [];
      request.on('data', (chunk: Buffer) => body.push(chunk));
      request.on('end', () => {
        response.writeHead(202, { 'X-Reply': 'yes', 'Set-Cookie': ['a=1', 'b=2'] });
        const { method, url, headers } = request;
        response.end(JSON.stringify({ method, url, headers, body: Buffer.concat(body).toString() }));
      });
    });
    const headers = { 'Content-Type': 'application/json', Host: 'elsewhere.example', 'X-Service-Event': 'e' };
    const response = await post(clientWith(), `http://127.0.0.1:${port}/hook?a=1#part`, {
      headers,
      body: Buffer.from('ü'),
    });
    expect(response).toMatchObject({ status: 202, headers: { 'x-reply': 'yes', 'set-cookie': 'a=1, b=2' } });
    expect(JSON.parse(response.body.toString())).toMatchObject({
      method: 'POST',
      url: '/hook?a=1',
      body: 'ü',
      headers: {
        'content-type': 'application/json',
        'content-length': '2',
        'user-agent': 'Postback/1.0',
        'x-service-event': 'e',
        host: `127.0.0.1:${port}`,
      },
    });
  });

  test('reuses connections', async () => {
    const { port, connections } = await responding((_request, response) => response.end('ok'));
    const client = clientWith({ maxConnectionsPerOrigin: 1 });
    for (let sent = 0; sent < 20; sent += 1) await post(client, `http://127.0.0.1:${port}/${sent}`);
    expect(connections).toHaveLength(1);
  });

  test('does not exceed the connection limit of an origin', async () => {
    const { port, connections } = await responding((_request, response) => response.end('ok'));
    const client = clientWith({ maxConnectionsPerOrigin: 3 });
    await Promise.all(Array.from({ length: 30 }, () => post(client, `http://127.0.0.1:${port}/`)));
    expect(connections.length).toBeLessThanOrEqual(3);
  });

  test('returns a redirect and does not follow it', async () => {
    const inside = await responding((_request, response) => response.end('secret'));
    const { port } = await responding((_request, response) => {
      response.writeHead(307, { location: `http://127.0.0.1:${inside.port}/` }).end();
    });
    const response = await post(clientWith(), `http://127.0.0.1:${port}/`);
    expect(response).toMatchObject({ status: 307, headers: { location: `http://127.0.0.1:${inside.port}/` } });
    expect(inside.connections).toHaveLength(0);
  });

  test('connects to the address that was checked, and checks each new connection', async () => {
    const addresses = [['127.0.0.1'], ['127.0.0.2']];
    const { port, connections } = await responding((_request, response) => {
      response.writeHead(200, { connection: 'close' }).end('ok');
    });
    const client = clientWith({
      allowedCidrs: parseAllowedCidrs('127.0.0.1/32'),
      lookup: async () => addresses.shift() ?? [],
    });
    expect((await post(client, `http://rebinding.example:${port}/`)).status).toBe(200);
    await expect(post(client, `http://rebinding.example:${port}/`)).rejects.toMatchObject({ code: 'EBLOCKED' });
    expect(connections).toHaveLength(1);
    expect(addresses).toEqual([]);
  });

  test('a pooled connection keeps its address when the name resolves differently later', async () => {
    let lookups = 0;
    const lookup = async () => [lookups++ === 0 ? '127.0.0.1' : '10.0.0.1'];
    const { port, connections } = await responding((_request, response) => response.end('ok'));
    const client = clientWith({ lookup, maxConnectionsPerOrigin: 1 });
    for (let sent = 0; sent < 3; sent += 1)
      expect((await post(client, `http://name.example:${port}/`)).status).toBe(200);
    expect(connections).toHaveLength(1);
  });

  test('localhost is loopback without a lookup', async () => {
    const { port } = await responding((_request, response) => response.end('ok'));
    const lookup = async () => ['8.8.8.8'];
    expect((await post(clientWith({ lookup }), `http://localhost:${port}/`)).status).toBe(200);
  });
});

describe('a receiver that misbehaves', () => {
  test('a receiver that hangs times out, while other requests succeed', async () => {
    const hanging = await responding(() => {});
    const responsive = await responding((_request, response) => response.end('ok'));
    const client = clientWith();
    const hung = post(client, `http://127.0.0.1:${hanging.port}/`, { timeoutMs: 1_000 });
    hung.catch(() => {});
    expect((await post(client, `http://127.0.0.1:${responsive.port}/`)).status).toBe(200);
    await expect(hung).rejects.toMatchObject({ code: 'ETIMEDOUT', message: 'timed out after 1000 ms' });
  });

  test('a receiver that drips its body times out, because the timeout covers the body', async () => {
    const { port } = await responding((_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    });
    const sent = post(clientWith(), `http://127.0.0.1:${port}/`, { timeoutMs: 500 });
    await expect(sent).rejects.toMatchObject({ code: 'ETIMEDOUT', message: 'timed out after 500 ms' });
  });

  test('an excerpt succeeds when the time is over and the status is known', async () => {
    const dispatcher: Pick<Dispatcher, 'dispatch'> = {
      dispatch(_options, handler) {
        const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
        handler.onRequestStart?.(controller, {});
        handler.onResponseStart?.(controller, 202, {}, 'Accepted');
        return true;
      },
    };
    const request = { origin: 'http://127.0.0.1', path: '/', method: 'POST' } as const;
    const limits = { timeoutMs: 1, maxResponseBytes: 1024 };
    expect((await exchange(dispatcher, request, { ...limits, excerpt: true })).status).toBe(202);
    await expect(exchange(dispatcher, request, limits)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  test('the lookup of a silent name server counts against the timeout', async () => {
    const client = clientWith({ lookup: () => new Promise(() => {}) });
    const sent = post(client, 'https://silent.example/', { timeoutMs: 300 });
    await expect(sent).rejects.toMatchObject({ code: 'ETIMEDOUT', message: 'timed out after 300 ms' });
  });

  test('a response of 300 MB is read up to the limit, and its connection is closed long before the end', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const { port, connections } = await responding((_request, response) => {
      response.writeHead(200, { 'content-length': 300 * 1024 * 1024 });
      const write = () => {
        while (written < 300 * 1024 * 1024 && !response.destroyed) {
          written += chunk.length;
          if (!response.write(chunk)) return;
        }
      };
      response.on('drain', write);
      write();
    });
    const response = await post(clientWith(), `http://127.0.0.1:${port}/`);
    expect(response.status).toBe(200);
    expect(response.body.toString()).toBe('x'.repeat(1024));
    const [socket] = connections;
    if (!socket?.destroyed) await new Promise((resolve) => socket?.once('close', resolve));
    expect(written).toBeLessThan(150 * 1024 * 1024);
  });

  test('a response in chunks of one byte does not keep what it was read into', async () => {
    const { port } = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.end(`${'1\r\nx\r\n'.repeat(100_000)}0\r\n\r\n`);
    });
    const { body } = await post(clientWith(), `http://127.0.0.1:${port}/`, { maxResponseBytes: 100_000 });
    expect(body.equals(Buffer.alloc(100_000, 'x'))).toBe(true);
    expect(body.buffer.byteLength).toBeLessThanOrEqual(2 * body.length);
  });

  test('a few interim responses come before a response; too many fail the attempt', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n';
    const respond = (count: number) =>
      raw((socket) => socket.end(`${interim.repeat(count)}HTTP/1.1 204 No Content\r\n\r\n`));
    const few = await respond(3);
    expect(await post(clientWith(), `http://127.0.0.1:${few.port}/`)).toMatchObject({ status: 204 });
    const many = await respond(10_000);
    await expect(post(clientWith(), `http://127.0.0.1:${many.port}/`)).rejects.toMatchObject({
      code: 'EPROTO',
      message: 'too many interim responses',
    });
  });

  test('a response of exactly the limit is complete and keeps its connection', async () => {
    const { port, connections } = await responding((_request, response) => response.end('x'.repeat(1024)));
    const client = clientWith({ maxConnectionsPerOrigin: 1 });
    for (let sent = 0; sent < 2; sent += 1) {
      expect((await post(client, `http://127.0.0.1:${port}/`)).body).toHaveLength(1024);
    }
    expect(connections).toHaveLength(1);
  });

  test.each<[string, (socket: Socket) => unknown, string, string]>([
    ['resets', (socket) => socket.resetAndDestroy(), 'ECONNRESET', 'connection reset'],
    [
      'closes without a response',
      (socket) => socket.end(),
      'ECONNRESET',
      'connection closed before the response was complete',
    ],
    [
      'closes in the middle of the response',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc'),
      'ECONNRESET',
      'connection closed before the response was complete',
    ],
    ['sends garbage', (socket) => socket.write('\x00\xffgarbage\r\n\r\n'), 'EPROTO', 'response is not valid HTTP'],
    [
      'speaks another protocol',
      (socket) => socket.write('SSH-2.0-OpenSSH_9.6\r\n'),
      'EPROTO',
      'response is not valid HTTP',
    ],
    [
      'states two lengths',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nabc'),
      'EPROTO',
      'response is not valid HTTP',
    ],
    [
      'states a length beside chunks',
      (socket) =>
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n'),
      'EPROTO',
      'response is not valid HTTP',
    ],
    [
      'responds with the status 000',
      (socket) => socket.end('HTTP/1.1 000 None\r\ncontent-length: 0\r\n\r\n'),
      'EPROTO',
      'response is not valid HTTP',
    ],
    [
      'never ends its headers',
      (socket) => pour(socket, `x-a: ${'a'.repeat(997)}\r\n`),
      'EPROTO',
      'response is not valid HTTP',
    ],
    [
      'never ends its header list',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n') && pour(socket, `x-a: ${'a'.repeat(997)}\r\n`),
      'EPROTO',
      'response has too many headers',
    ],
    [
      'never ends its trailers',
      (socket) =>
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n') &&
        pour(socket, `x-a: ${'a'.repeat(997)}\r\n`),
      'EPROTO',
      'response has too many headers',
    ],
  ])('a receiver that %s fails the attempt', async (_what, respond, code, message) => {
    const { port } = await raw(respond);
    await expect(post(clientWith(), `http://127.0.0.1:${port}/`)).rejects.toMatchObject({
      name: 'OutboundError',
      code,
      message,
    });
  });

  test('a receiver that rejects the connection fails the attempt', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    const sent = post(clientWith(), `http://127.0.0.1:${port}/`);
    await expect(sent).rejects.toMatchObject({ code: 'ECONNREFUSED', message: 'connection refused' });
  });

  test('a caller can cancel an attempt before it starts and while it runs', async () => {
    const { port, connections } = await responding(() => stop.abort());
    const stop = new AbortController();
    const client = clientWith();
    const url = `http://127.0.0.1:${port}/`;
    await expect(post(client, url, { signal: stop.signal })).rejects.toMatchObject({
      code: 'ECANCELED',
      message: 'cancelled',
    });
    await expect(post(client, url, { signal: stop.signal })).rejects.toMatchObject({ code: 'ECANCELED' });
    expect(connections).toHaveLength(1);
  });
});

describe('TLS', () => {
  const receiver = async (certificate: { cert: string; key: string }) =>
    (await listen(createHttpsServer(certificate, (_request, response) => response.end('ok')))).port;
  const lookup = async () => ['127.0.0.1'];

  test('a certificate of a trusted authority is accepted for its host', async () => {
    const certificate = selfSigned('receiver.example');
    const port = await receiver(certificate);
    const client = clientWith({ lookup, tls: { ca: certificate.cert } });
    expect((await post(client, `https://receiver.example.:${port}/`)).status).toBe(200);
    await expect(post(client, `https://other.example:${port}/`)).rejects.toMatchObject({
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
      message: 'TLS certificate not valid: issued for another host name',
    });
  });

  test('a receiver that speaks HTTP/2 too gets HTTP/1.1, whose connection ends with a request that times out', async () => {
    const versions: string[] = [];
    const certificate = selfSigned('receiver.example');
    const server = createSecureServer({ ...certificate, allowHTTP1: true }, (request, response) => {
      versions.push(request.httpVersion);
      response.end();
    });
    const { port } = await listen(server);
    const client = clientWith({ lookup, tls: { ca: certificate.cert } });
    expect((await post(client, `https://receiver.example:${port}/`)).status).toBe(200);
    expect(versions).toEqual(['1.1']);
  });

  test('an expired certificate is not accepted', async () => {
    const certificate = selfSigned('receiver.example', new Date('2021-01-01T00:00:00Z'));
    const port = await receiver(certificate);
    const client = clientWith({ lookup, tls: { ca: certificate.cert } });
    const sent = post(client, `https://receiver.example:${port}/`);
    await expect(sent).rejects.toMatchObject({
      code: 'CERT_HAS_EXPIRED',
      message: 'TLS certificate not valid: expired',
    });
  });

  test('a self-signed certificate is not accepted, even for opened ranges', async () => {
    const port = await receiver(selfSigned('receiver.example'));
    const sent = post(clientWith({ lookup }), `https://receiver.example:${port}/`);
    await expect(sent).rejects.toMatchObject({ message: 'TLS certificate not valid: self-signed' });
  });

  test('a receiver without TLS fails the handshake', async () => {
    const { port } = await responding((_request, response) => response.end('ok'));
    const sent = post(clientWith(), `https://127.0.0.1:${port}/`);
    await expect(sent).rejects.toMatchObject({ name: 'OutboundError', message: 'TLS handshake failed' });
  });
});

describe('an exchange that reads only an excerpt', () => {
  test.each<[string, (socket: Socket) => void]>([
    ['drips', (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nwel')],
    ['breaks off', (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nwel')],
  ])('is decided by its status when the body %s', async (_how, respond) => {
    const { port } = await raw(respond);
    const response = await post(clientWith(), `http://127.0.0.1:${port}/`, { excerpt: true });
    expect([response.status, response.body.toString()]).toEqual([200, 'wel']);
  });

  test('does not keep the connection of a body that never ends', async () => {
    const { port, connections } = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nwel');
    });
    await post(clientWith(), `http://127.0.0.1:${port}/`, { excerpt: true });
    const [socket] = connections;
    if (!socket?.destroyed) await new Promise((resolve) => socket?.once('close', resolve));
  });
});

test('hanging requests do not block other requests to the same origin', async () => {
  const { port } = await responding((request, response) => {
    if (request.url === '/quick') response.end('ok');
  });
  const client = clientWith();
  const hanging = Promise.allSettled(Array.from({ length: 60 }, () => post(client, `http://127.0.0.1:${port}/`)));
  const response = await post(client, `http://127.0.0.1:${port}/quick`);
  expect(response.body.toString()).toBe('ok');
  await client.close();
  for (const { status } of await hanging) expect(status).toBe('rejected');
});

describe('a download', () => {
  const collect = () => {
    const pieces: Buffer[] = [];
    const to = new Writable({
      write(piece: Buffer, _encoding, done) {
        pieces.push(piece);
        done();
      },
    });
    return { to, text: () => Buffer.concat(pieces).toString() };
  };
  const get = (client: OutboundClient, port: number, to: Writable, rest: Partial<OutboundDownload> = {}) =>
    client.download({ url: `http://127.0.0.1:${port}/file`, timeoutMs: ENOUGH_MS, maxBytes: 1_000, to, ...rest });

  test('streams the body of a 2xx response', async () => {
    const { port } = await responding((_request, response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('words'),
    );
    const { to, text } = collect();
    expect(await get(clientWith(), port, to)).toMatchObject({ status: 200, headers: { 'content-type': 'text/plain' } });
    expect(text()).toBe('words');
    expect(to.writableFinished).toBe(true);
  });

  test('a body in chunks of one byte is written in blocks, and waits for a slow writer', async () => {
    const bytes = 200_000;
    const { port } = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.end(`${'1\r\nx\r\n'.repeat(bytes)}0\r\n\r\n`);
    });
    const sizes: number[] = [];
    const to = new Writable({
      highWaterMark: 1,
      write(piece: Buffer, _encoding, done) {
        sizes.push(piece.length);
        setImmediate(done);
      },
    });
    await get(clientWith(), port, to, { maxBytes: bytes });
    expect(sizes.reduce((sum, size) => sum + size)).toBe(bytes);
    expect(sizes.length).toBeLessThan(10);
  });

  test('returns any other response, redirects included, and writes nothing', async () => {
    const { port } = await responding((_request, response) =>
      response.writeHead(302, { location: '/other' }).end('elsewhere'),
    );
    const { to, text } = collect();
    expect(await get(clientWith(), port, to)).toMatchObject({ status: 302, headers: { location: '/other' } });
    expect(text()).toBe('');
    expect(to.destroyed).toBe(true);
  });

  test('a response without a body keeps its connection', async () => {
    const { port, connections } = await responding((_request, response) => response.writeHead(304).end());
    const client = clientWith();
    for (let n = 0; n < 8; n += 1) expect(await get(client, port, collect().to)).toMatchObject({ status: 304 });
    // A request may start a moment before the connection of the one before it is free.
    expect(connections.length).toBeLessThan(8);
  });

  test('fails at its size limit, however much is sent', async () => {
    const { port } = await raw((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      pour(socket, 'x'.repeat(10_000));
    });
    const { to } = collect();
    await expect(get(clientWith(), port, to)).rejects.toMatchObject({ name: 'OutboundError', code: 'ETOOLARGE' });
    expect(to.destroyed).toBe(true);
  });

  test('fails at its time limit and when it is cancelled', async () => {
    const { port } = await responding((_request, response) => response.writeHead(200).write('drip'));
    await expect(get(clientWith(), port, collect().to, { timeoutMs: 50 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    const cancel = new AbortController();
    const download = get(clientWith(), port, collect().to, { signal: cancel.signal });
    cancel.abort();
    await expect(download).rejects.toMatchObject({ code: 'ECANCELED' });
  });

  test('fails when the body is cut off', async () => {
    const { port } = await raw((socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf'));
    await expect(get(clientWith(), port, collect().to)).rejects.toMatchObject({ name: 'OutboundError' });
  });

  test('that is cancelled before its file is open leaves no error that nobody hears', async () => {
    const cancel = new AbortController();
    cancel.abort();
    const to = createWriteStream('/nowhere/file');
    const closed = new Promise<void>((resolve) => to.once('close', () => resolve()));
    await expect(get(clientWith(), 1, to, { signal: cancel.signal })).rejects.toMatchObject({ code: 'ECANCELED' });
    // Without a listener, the error before it would end the process.
    await closed;
    expect(to.listenerCount('error')).toBeGreaterThan(0);
  });

  test('rejects a blocked address', async () => {
    const client = clientWith({ allowedCidrs: [] });
    const { to } = collect();
    await expect(client.download({ url: 'https://10.0.0.1/', timeoutMs: 1_000, maxBytes: 1, to })).rejects.toMatchObject({ name: 'BlockedAddressError' }); // biome-ignore format: one call
    expect(to.destroyed).toBe(true);
  });
});

describe('an egress proxy', () => {
  /** A proxy that opens tunnels to this machine, whatever the name is, and passes plain requests on. */
  async function startEgressProxy(decide: () => number = () => 200) {
    const seen: { line: string; authorization: string | undefined }[] = [];
    const server = createHttpServer((request, response) => {
      seen.push({ line: `${request.method} ${request.url}`, authorization: request.headers['proxy-authorization'] });
      response.end('by the proxy');
    });
    server.on('connect', (request: IncomingMessage, socket: Socket) => {
      const { port } = new URL(`tcp://${request.url}`);
      seen.push({ line: `CONNECT ${request.url}`, authorization: request.headers['proxy-authorization'] });
      socket.on('error', () => undefined);
      const status = decide();
      if (status === 0) return;
      if (status !== 200) return void socket.end(`HTTP/1.1 ${status} No\r\n\r\n`);
      const upstream = connect(Number(port), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
    });
    const { port } = await listen(server);
    return { url: `http://user:p%40ss@127.0.0.1:${port}`, seen };
  }
  const unknown = async (name: string) => {
    throw Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  };
  const authorization = `Basic ${Buffer.from('user:p@ss').toString('base64')}`;
  const certificate = selfSigned('receiver.example');
  const receiver = async (respond: (response: ServerResponse) => void = (response) => response.end('ok')) =>
    (await listen(createHttpsServer(certificate, (_request, response) => respond(response)))).port;
  const behind = (proxy: string, lookup: (name: string) => Promise<string[]> = unknown) =>
    clientWith({ proxy, lookup, tls: { ca: certificate.cert }, maxConnectionsPerOrigin: 1 });

  test('gets a tunnel for each https receiver, also for names that only the proxy can resolve', async () => {
    const proxy = await startEgressProxy();
    const port = await receiver();
    const client = behind(proxy.url);
    for (let n = 0; n < 2; n++) {
      const { status, body } = await post(client, `https://receiver.example:${port}/hook`);
      expect([status, body.toString()]).toEqual([200, 'ok']);
    }
    // The second request uses the connection of the first.
    expect(proxy.seen).toEqual([{ line: `CONNECT receiver.example:${port}`, authorization }]);
    // The certificate must be that of the receiver.
    const sent = post(client, `https://other.example:${port}/`);
    await expect(sent).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  });

  test('gets plain http in the absolute form, for opened addresses only', async () => {
    const proxy = await startEgressProxy();
    const client = behind(proxy.url, async (name) => (name === 'opened.example' ? ['127.0.0.1'] : ['93.184.216.34']));
    const { body } = await post(client, 'http://opened.example/hook?a=1');
    expect(body.toString()).toBe('by the proxy');
    expect(proxy.seen).toEqual([{ line: 'POST http://opened.example/hook?a=1', authorization }]);
    const message = 'only https URLs are allowed';
    await expect(post(client, 'http://other.example/')).rejects.toMatchObject({ code: 'EBLOCKED', message });
    expect(proxy.seen).toHaveLength(1);
  });

  test('is not asked for addresses that are blocked, as far as they are known here', async () => {
    const proxy = await startEgressProxy();
    const client = behind(proxy.url, async (name) => (name === 'internal.example' ? ['10.0.0.1'] : unknown(name)));
    const literal = ['https://10.0.0.1/', 'https://169.254.169.254/'];
    for (const url of [...literal, 'https://internal.example/', 'http://unknown.example/'])
      await expect(post(client, url)).rejects.toMatchObject({ code: 'EBLOCKED' });
    expect(proxy.seen).toEqual([]);
  });

  test('that refuses, hangs or is down fails the attempt, within its time limit, and names no credentials', async () => {
    let answer = 0;
    const proxy = await startEgressProxy(() => answer);
    const port = await receiver();
    const client = behind(proxy.url);
    const url = `https://receiver.example:${port}/`;
    for (answer of [403, 407]) {
      const refused = await post(client, url).catch((error) => error);
      expect(refused).toMatchObject({ code: 'EPROXY', message: 'the egress proxy refused the connection' });
    }
    answer = 0;
    await expect(post(client, url, { timeoutMs: 300 })).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    // On a busy machine the time can be over before the proxy is asked.
    answer = 200;
    expect((await post(client, url)).status).toBe(200);
    const { port: closed } = await listen(createTcpServer((socket) => socket.destroy()));
    const down = await post(behind(`http://user:secret@127.0.0.1:${closed}`), url).catch((error) => error);
    expect(down.name).toBe('OutboundError');
    expect(JSON.stringify([down.code, down.message, down.stack])).not.toContain('secret');
  });

  test('does not lift the limits of a response', async () => {
    const proxy = await startEgressProxy();
    const port = await receiver((response) => response.end('x'.repeat(100_000)));
    const { body } = await post(behind(proxy.url), `https://receiver.example:${port}/`, { maxResponseBytes: 10 });
    expect(body).toHaveLength(10);
    const silent = await receiver(() => undefined);
    const sent = post(behind(proxy.url), `https://receiver.example:${silent}/`, { timeoutMs: 300 });
    await expect(sent).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });
});
