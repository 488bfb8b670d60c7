import { mkdtempSync, rmSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { AwsClient } from 'aws4fetch';
import type { Middleware } from 'koa';
import S3rver from 's3rver';
import { eventually } from './eventually.js';

/** The only keys that the server accepts. */
export const S3_KEYS = { access_key_id: 'S3RVER', secret_access_key: 'S3RVER' };

/** The same keys for clients that read them from the environment. */
export const S3_ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: S3_KEYS.access_key_id,
  AWS_SECRET_ACCESS_KEY: S3_KEYS.secret_access_key,
};

/** An S3-compatible server with one bucket, which does not run yet. @param port 0: any free port */
export function createS3Server(port: number, directory: string, bucket: string): S3rver {
  const configureBuckets = [{ name: bucket }];
  const server = new S3rver({ port, address: '127.0.0.1', silent: true, directory, configureBuckets });
  server.middleware.unshift(atomicWrites());
  server.middleware.unshift(wholeBodies());
  return server;
}

/**
 * Starts an S3-compatible server with one bucket.
 * @param conditionalWrites rejects a second write with `If-None-Match: *`. S3rver lacks If-None-Match; this adds it
 */
export async function startS3(bucket: string, { conditionalWrites = false } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'postback-s3-'));
  const server = createS3Server(0, directory, bucket);
  // Behind `wholeBodies`: a write that was cut off does not count.
  if (conditionalWrites) server.middleware.splice(1, 0, enforceIfNoneMatch());
  /** Methods that are answered with 503. */
  const failing = new Set<string>();
  server.middleware.unshift(async (ctx, next) => {
    if (failing.has(ctx.method)) ctx.status = 503;
    else await next();
  });
  const { port } = await server.run();
  const endpoint = `http://127.0.0.1:${port}`;
  const client = new AwsClient({
    accessKeyId: S3_KEYS.access_key_id,
    secretAccessKey: S3_KEYS.secret_access_key,
    service: 's3',
    region: 'us-east-1',
  });
  const send = async (method: string, key: string, body?: string) => {
    const path = key.split('/').map(encodeURIComponent).join('/');
    const response = await client.fetch(`${endpoint}/${bucket}/${path}`, {
      method,
      ...(body === undefined ? {} : { body }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${key}: ${response.status} ${text}`);
    return text;
  };
  /** `<method> <path and query>` of each request. */
  const requests: string[] = [];
  server.httpServer.on('request', (request) => requests.push(`${request.method} ${request.url}`));
  return {
    endpoint,
    bucket,
    requests,
    failing,
    put: (key: string, body: string) => send('PUT', key, body),
    remove: (key: string) => send('DELETE', key),
    /** Begins to write an object, and closes the connection before its end. */
    async putPartly(key: string): Promise<void> {
      const headers = { 'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD' };
      const signed = await client.sign(`${endpoint}/${bucket}/${key}`, { method: 'PUT', headers });
      const options = { method: 'PUT', headers: { ...Object.fromEntries(signed.headers), 'Content-Length': '100' } };
      const sending = httpRequest(signed.url, options).on('error', () => undefined);
      sending.write('a part');
      await eventually('the write', () => requests.includes(`PUT /${bucket}/${key}`));
      sending.destroy();
    },
    async keys(): Promise<string[]> {
      return [...(await send('GET', '')).matchAll(/<Key>(.*?)<\/Key>/g)].map(([, key]) => key!);
    },
    async close() {
      await server.close();
      // Later: S3rver may still write for a client that was killed, and an error there would end the test process.
      process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
    },
  };
}

/**
 * A request whose connection ends before its body changes nothing, as in S3. S3rver waits for the rest of the body for ever, and
 * so does every write behind it.
 */
function wholeBodies(): Middleware {
  return async (ctx, next) => {
    if (ctx.method !== 'PUT' && ctx.method !== 'POST') return next();
    const body = await buffer(ctx.req).catch(() => null);
    if (body === null) return ctx.req.socket.destroy();
    ctx.req = Readable.from([body], { objectMode: false }) as IncomingMessage;
    await next();
  };
}

/**
 * An object exists when all of it is written, as in S3. S3rver shows it before, so writes and lists take turns, and whoever reads
 * an object waits for its write. S3rver removes a folder with its last object, also while another object is written to it, so
 * removals take turns, too.
 */
function atomicWrites(): Middleware {
  const writing = new Map<string, Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return async (ctx, next) => {
    const isWrite = ctx.method === 'PUT';
    const isRead = !isWrite && ctx.method !== 'DELETE';
    if (isRead && ctx.path.split('/').filter(Boolean).length > 1) {
      await writing.get(ctx.path);
      return next();
    }
    const done = last.then(next);
    last = done.catch(() => undefined);
    if (isWrite) writing.set(ctx.path, last);
    await done;
  };
}

function enforceIfNoneMatch(): Middleware {
  const written = new Set<string>();
  return async (ctx, next) => {
    const isNew = ctx.method === 'PUT' && ctx.get('If-None-Match') === '*';
    if (isNew && written.has(ctx.path)) {
      ctx.status = 412;
      ctx.type = 'application/xml';
      ctx.body = '<Error><Code>PreconditionFailed</Code><Message>The object exists.</Message></Error>';
      return;
    }
    if (isNew) written.add(ctx.path);
    await next();
  };
}
