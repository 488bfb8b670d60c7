import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createForeignParser } from '../../providers/connectors/index.js';
import { createRequests } from '../../providers/connectors/requests.js';
import { createS3Source } from '../../providers/connectors/s3.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { duringTests } from '../support/during-tests.js';
import { startHttpServer } from '../support/http-server.js';

const SECRET = 'a secret access key / with + signs';
const KEYS = ['a b.txt', "notes/Überfahrt & (Nebel) 1+1='2'.txt", 'notes/lamp.txt', 'z/ä%25.md', 'zz.txt'];

// A bucket that pages its listings and checks each signature with its own implementation of Signature Version 4.
describe('a large bucket', () => {
  const folder = mkdtempSync(join(tmpdir(), 's3-pages-'));
  const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
  const requests = createRequests(outbound, { timeoutMs: 60_000, maxBytes: 1_000 });
  const parser = createForeignParser();
  const signal = new AbortController().signal;
  const server = duringTests(() =>
    startHttpServer((request, response) => {
      if (!isSigned(request)) {
        response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
        return;
      }
      const url = new URL(request.url!, 'http://bucket');
      if (url.searchParams.get('list-type') === '2') response.end(listing(url.searchParams));
      else response.end(`content of ${decodeURIComponent(url.pathname.slice('/archive/'.length))}`);
    }),
  );
  afterAll(async () => {
    await outbound.close();
    await parser.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const source = (secret_access_key: string) =>
    createS3Source(
      { endpoint: server.url, bucket: 'archive', prefix: '', region: 'eu-north-1', path_style: true },
      { access_key_id: 'AKIATEST', secret_access_key },
      { requests, parser },
      2,
    );

  test('is listed page by page, with any characters in keys, and each object can be fetched', async () => {
    const bucket = source(SECRET);
    const seen: string[] = [];
    const pages: number[] = [];
    let cursor: string | null = null;
    do {
      const { resources, next } = await bucket.list(cursor, {}, signal);
      pages.push(resources.length);
      seen.push(...resources.map(({ key }) => key));
      cursor = next;
    } while (cursor !== null);
    expect(seen).toEqual(KEYS);
    expect(pages).toEqual([2, 2, 1]);
    for (const [n, key] of KEYS.entries()) {
      const path = join(folder, String(n));
      expect(await bucket.fetch({ key }, path, signal)).toMatchObject({ state: 'content', url: `s3://archive/${key}` });
      expect(readFileSync(path, 'utf8')).toBe(`content of ${key}`);
    }
  });

  test('rejects another secret', async () => {
    await expect(source('another').list(null, {}, signal)).rejects.toMatchObject({
      message: 'The server does not accept the secret access key.',
    });
  });
});

/** Two keys per page. The token is the start of the next page with characters that need encoding. */
function listing(query: URLSearchParams): string {
  const from = Number((query.get('continuation-token') ?? '0/+=').split('/')[0]);
  const size = Number(query.get('max-keys'));
  const shown = KEYS.slice(from, from + size);
  const more = from + size < KEYS.length;
  const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/'/g, '&apos;');
  return `<?xml version="1.0"?><ListBucketResult><IsTruncated>${more}</IsTruncated>${shown
    .map((key) => `<Contents><Key>${escaped(key)}</Key><ETag>"${key.length}"</ETag></Contents>`)
    .join('')}${more ? `<NextContinuationToken>${from + size}/+=</NextContinuationToken>` : ''}</ListBucketResult>`;
}

function isSigned(request: IncomingMessage): boolean {
  const authorization = /Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=(\w+)/.exec(
    request.headers.authorization ?? '',
  );
  if (!authorization) return false;
  const [, credential, names, signature] = authorization as unknown as [string, string, string, string];
  const [, day, region, service, terminator] = credential.split('/') as [string, string, string, string, string];
  const [path, query = ''] = request.url!.split('?') as [string, string?];
  const canonical = [
    request.method,
    path,
    query.split('&').sort().join('&'),
    ...names.split(';').map((name) => `${name}:${request.headers[name]}`),
    '',
    names,
    request.headers['x-amz-content-sha256'],
  ].join('\n');
  const toSign = [
    'AWS4-HMAC-SHA256',
    request.headers['x-amz-date'],
    [day, region, service, terminator].join('/'),
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const key = [day, region, service, terminator].reduce<string | Buffer>(hmac, `AWS4${SECRET}`);
  return createHmac('sha256', key).update(toSign).digest('hex') === signature && region === 'eu-north-1';
}
