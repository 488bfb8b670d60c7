import { gzipSync } from 'node:zlib';
import type { HostileCase, Target } from './case.js';
import { head, JSON_TYPE, send, sendRaw, summarise } from './send.js';

/** A case that sends a multipart body made by hand. */
const form = (what: string, content: (boundary: string) => string | Buffer, boundary = 'b'): HostileCase => ({
  name: `form: ${what}`,
  prepare(target) {
    const body = content(boundary) as NonNullable<RequestInit['body']>;
    const headers = { 'Content-Type': `multipart/form-data; boundary=${boundary}` };
    return () => send(target, 'POST', '/context/ingest', body, headers);
  },
});

/** A case that sends one request without a body. */
const get = (what: string, path: (target: Target) => string): HostileCase => ({
  name: `request: ${what}`,
  prepare(target) {
    const address = path(target);
    return () => send(target, 'GET', address);
  },
});

const part = (name: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${content}\r\n`;
const file = (name: string, content: string) =>
  `--b\r\nContent-Disposition: form-data; name="documents"; filename="${name}"\r\n\r\n${content}\r\n`;

/** Forms and single requests that no client library sends. */
export const REQUEST_CASES: readonly HostileCase[] = [
  form('300,000 tiny fields', () => `${part('x', '1').repeat(300_000)}--b--\r\n`),
  form('200,000 tiny files', () => `${file('a.txt', 'x').repeat(200_000)}--b--\r\n`),
  form('300,000 parts that are neither', () => `${'--b\r\nX: y\r\n\r\n1\r\n'.repeat(300_000)}--b--\r\n`),
  form('100 file names of 70 kB', () => `${file('é%"\\n'.repeat(15_000), 'x').repeat(100)}--b--\r\n`),
  form('a field name of 10 MB', () => `${part('n'.repeat(10_000_000), '1')}--b--\r\n`),
  form('a file name of 10 MB', () => `${file('n'.repeat(10_000_000), '1')}--b--\r\n`),
  form('100,000 headers in a part', () => `--b\r\n${'X-Header: 1\r\n'.repeat(100_000)}\r\n1\r\n--b--\r\n`),
  form('a part that never ends', () => part('memories', 'x'.repeat(30_000_000))),
  form('40 MB of almost boundaries', () => part('memories', '\r\n--'.repeat(8_000_000))),
  form('40 MB without any part', () => Buffer.alloc(40_000_000, 0x2d)),
  form('a boundary of 200 dashes', (boundary) => `--${boundary}\r\n${'-'.repeat(30_000_000)}`, '-'.repeat(200)),
  {
    name: 'form: no boundary',
    prepare: (target) => () =>
      send(target, 'POST', '/context/ingest', 'x'.repeat(5_000_000), { 'Content-Type': 'multipart/form-data' }),
  },
  {
    name: 'form: 8 of 30 MB at once',
    prepare(target) {
      const body = `${part('database', target.database)}${part('memories', `["${'x'.repeat(30_000_000)}"]`)}--b--\r\n`;
      const headers = { 'Content-Type': 'multipart/form-data; boundary=b' };
      return async () =>
        summarise(
          await Promise.all(Array.from({ length: 8 }, () => send(target, 'POST', '/context/ingest', body, headers))),
        );
    },
  },
  get('12,000 commas in ids', ({ database }) => `/context/status?database=${database}&ids=${','.repeat(12_000)}`),
  get('15,000 query parameters', () => `/databases?${'a&'.repeat(7_500)}`),
  get('a path of 15,000 segments', () => `/${'a/'.repeat(7_500)}`),
  get('a path of broken percent signs', () => `/context/${'%'.repeat(15_000)}`),
  get('a URL of 1 MB', () => `/databases?x=${'a'.repeat(1_000_000)}`),
  get('a cursor of 15 kB', () => `/databases?cursor=${'A'.repeat(15_000)}`),
  {
    name: 'request: a gzip body that inflates to 200 MB',
    prepare(target) {
      const body = gzipSync(Buffer.alloc(200_000_000, 0x20));
      return () => send(target, 'POST', '/query', body, { ...JSON_TYPE, 'Content-Encoding': 'gzip' });
    },
  },
  {
    name: 'request: 2,000 headers',
    prepare: (target) => () =>
      sendRaw(target, (socket) => {
        const headers = Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`X-${n}`, n]));
        socket.write(head(target, 'GET /databases', { ...headers, Connection: 'close' }));
      }),
  },
  {
    name: 'request: 50 MB of chunked trailers',
    prepare: (target) => () =>
      sendRaw(target, (socket) => {
        socket.write(head(target, 'POST /query', { ...JSON_TYPE, 'Transfer-Encoding': 'chunked' }));
        socket.write(`2\r\n{}\r\n0\r\n${'X-Trailer: 1\r\n'.repeat(3_500_000)}\r\n`);
      }),
  },
  {
    name: 'request: 1 million chunks of one byte',
    prepare: (target) => () =>
      sendRaw(target, (socket) => {
        const headers = { ...JSON_TYPE, 'Transfer-Encoding': 'chunked', Connection: 'close' };
        socket.write(head(target, 'POST /query', headers));
        socket.write(`${'1\r\n \r\n'.repeat(1_000_000)}0\r\n\r\n`);
      }),
  },
  {
    name: 'form: 1 million chunks of one byte',
    prepare: (target) => () =>
      sendRaw(target, (socket) => {
        const headers = { 'Content-Type': 'multipart/form-data; boundary=b', 'Transfer-Encoding': 'chunked' };
        socket.write(head(target, 'POST /context/ingest', { ...headers, Connection: 'close' }));
        const start = '--b\r\nContent-Disposition: form-data; name="memories"\r\n\r\n';
        socket.write(`${start.length.toString(16)}\r\n${start}\r\n`);
        socket.write(`${'1\r\n \r\n'.repeat(1_000_000)}0\r\n\r\n`);
      }),
  },
  {
    name: 'request: 5,000 pipelined',
    prepare: (target) => () =>
      sendRaw(target, (socket) => {
        socket.write(head(target, 'GET /databases').repeat(4_999));
        socket.write(head(target, 'GET /databases', { Connection: 'close' }));
      }),
  },
  {
    name: 'request: 2,000 with an invalid key',
    prepare: (target) => () =>
      repeat(2_000, (n) => send({ ...target, key: `pbk_api_${String(n).padStart(43, '0')}` }, 'GET', '/databases')),
  },
  {
    name: 'request: 2,000 Idempotency-Keys',
    prepare: (target) => () =>
      repeat(2_000, (n) => send(target, 'POST', '/query', '{}', { ...JSON_TYPE, 'Idempotency-Key': `key-${n}` })),
  },
];

/** Sends requests, 50 at a time. */
async function repeat(count: number, once: (n: number) => Promise<string>): Promise<string> {
  const outcomes: string[] = [];
  for (let n = 0; n < count; n += 50) {
    outcomes.push(...(await Promise.all(Array.from({ length: 50 }, (_, i) => once(n + i)))));
  }
  return summarise(outcomes);
}
