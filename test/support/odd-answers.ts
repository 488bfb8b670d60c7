/** Servers whose answers break HTTP, for every road by which Postback fetches. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';

type Answer = (socket: Socket) => void;

const LARGE = `<!doctype html><title>Large</title>${'<p>words and more words</p>'.repeat(12_000)}`;
const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

/** What a server sends after the first bytes of a request. */
export const ODD_ANSWERS: Record<string, Answer> = {
  'ends while 300 kB wait': (socket) =>
    socket.end(`${HEAD}Connection: close\r\nContent-Length: ${LARGE.length}\r\n\r\n${LARGE}`),
  'ends while 300 kB wait, without a length': (socket) => socket.end(`${HEAD}Connection: close\r\n\r\n${LARGE}`),
  'ends while 300 kB wait, in chunks': (socket) =>
    socket.end(
      `${HEAD}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n${LARGE.length.toString(16)}\r\n${LARGE}\r\n0\r\n\r\n`,
    ),
  'ends while 300 kB wait, in HTTP/1.0': (socket) => socket.end(`HTTP/1.0 200 OK\r\n\r\n${LARGE}`),
  'ends before anything': (socket) => socket.end(),
  'ends within the head': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty'),
  'ends within the body': (socket) => socket.end(`${HEAD}Content-Length: 1000000\r\n\r\n${LARGE}`),
  'ends within a chunk': (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\nffff\r\nhalf`),
  'resets at once': (socket) => socket.resetAndDestroy(),
  'resets within the body': (socket) =>
    socket.write(`${HEAD}Content-Length: 1000000\r\n\r\n${LARGE}`, () => socket.resetAndDestroy()),
  'sends a body without end': (socket) => {
    socket.write(`${HEAD}\r\n`);
    pour(socket, LARGE);
  },
  'sends chunks without end': (socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    pour(socket, `${LARGE.length.toString(16)}\r\n${LARGE}\r\n`);
  },
  'sends headers without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    pour(socket, 'X-Filler: filler\r\n'.repeat(1_000));
  },
  'sends garbage': (socket) => socket.end(Buffer.alloc(100_000, 0x80)),
  'sends 20,000 headers': (socket) => socket.end(`HTTP/1.1 200 OK\r\n${'X-H: 1\r\n'.repeat(20_000)}\r\n`),
  'sends one header of 1 MB': (socket) => socket.end(`HTTP/1.1 200 OK\r\nX-H: ${'1'.repeat(1_000_000)}\r\n\r\n`),
  'sends three responses at once': (socket) =>
    socket.end([...Array(3).fill(`${HEAD}Content-Length: 5\r\n\r\nfirst`), `${HEAD}\r\n${LARGE}`].join('')),
  'sends a response before the request has ended': (socket) => {
    socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
    socket.write(`${HEAD}Content-Length: 2\r\n\r\nok`);
  },
  'sends 1,000 interim responses': (socket) => socket.end('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)),
  'switches the protocol': (socket) => socket.end('HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\n\r\nother'),
  'sends a length that is no number': (socket) => socket.end(`${HEAD}Content-Length: -5\r\n\r\nbody`),
  'sends two lengths': (socket) => socket.end(`${HEAD}Content-Length: 4\r\nContent-Length: 9\r\n\r\nbody`),
  'sends a length and chunks': (socket) =>
    socket.end(`${HEAD}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n`),
  'sends a chunk whose size is no number': (socket) =>
    socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nbody\r\n`),
  'sends trailers without end': (socket) => {
    socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n`);
    pour(socket, 'X-Trailer: more\r\n'.repeat(1_000));
  },
  'sends compressed data that are none': (socket) =>
    socket.end(`${HEAD}Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnone`),
  'sends a status that is no number': (socket) => socket.end('HTTP/1.1 abc OK\r\n\r\n'),
  'says nothing': () => undefined,
};

/** Writes a text again and again, as fast as the other side reads. */
function pour(socket: Socket, text: string): void {
  if (socket.destroyed) return;
  if (socket.write(text)) setImmediate(pour, socket, text);
  else socket.once('drain', () => pour(socket, text));
}

/** A server for each odd answer, on loopback. */
export async function startOddServers() {
  const sockets = new Set<Socket>();
  const servers = await Promise.all(
    Object.entries(ODD_ANSWERS).map(async ([name, answer]) => {
      const server = createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => undefined);
        socket.once('close', () => sockets.delete(socket));
        socket.once('data', () => answer(socket));
      }).listen(0, '127.0.0.1');
      await once(server, 'listening');
      return { name, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
    }),
  );
  return {
    /** The address of each answer. */
    urls: servers.map(({ name, url }) => ({ name, url })),
    close(): void {
      for (const socket of sockets) socket.destroy();
      for (const { server } of servers) server.close();
    },
  };
}
