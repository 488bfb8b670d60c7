import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AwsClient } from 'aws4fetch';
import S3rver from 's3rver';

/** The one pair of keys that the server knows. */
export const S3_KEYS = { access_key_id: 'S3RVER', secret_access_key: 'S3RVER' };

/** An S3-compatible server with one bucket, filled as any client would. */
export async function startS3(bucket: string) {
  const directory = mkdtempSync(join(tmpdir(), 'postback-s3-'));
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
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
    if (!response.ok) throw new Error(`${method} ${key}: ${response.status} ${await response.text()}`);
  };
  /** `<method> <path and query>` of each request. */
  const asked: string[] = [];
  server.httpServer.on('request', (request) => asked.push(`${request.method} ${request.url}`));
  return {
    endpoint,
    bucket,
    asked,
    put: (key: string, body: string) => send('PUT', key, body),
    remove: (key: string) => send('DELETE', key),
    async close() {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
