import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createSecureServer, type Http2SecureServer, type IncomingHttpHeaders } from 'node:http2';
import { type AddressInfo, connect, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Connection } from '@temporalio/client';
import proto from '@temporalio/proto';
import { NativeConnection } from '@temporalio/worker';
import { readConfig } from '../runtime/config.js';
import { connectTemporal, registerSearchAttributes, temporalAccess } from '../temporal/connection.js';
import { eventually } from './support/eventually.js';
import { createNamespace, sharedProduct } from './support/product.js';
import { selfSigned } from './support/self-signed.js';

const NAME = 'temporal.test';

describe('a Temporal server with access control', () => {
  const { temporalAddress } = sharedProduct();
  const folder = mkdtempSync(join(tmpdir(), 'postback-tls-'));
  const [server, client] = [selfSigned(NAME), selfSigned('postback.test')];
  const servers: (Server | Http2SecureServer)[] = [];
  let env: Record<string, string>;

  beforeAll(() => {
    const write = (name: string, pem: string) => {
      const path = join(folder, name);
      writeFileSync(path, pem);
      return path;
    };
    env = {
      TEMPORAL_TLS_SERVER_NAME: NAME,
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: write('server.pem', server.cert),
      TEMPORAL_TLS_CLIENT_CERT_PATH: write('client.pem', client.cert),
      TEMPORAL_TLS_CLIENT_KEY_PATH: write('client.key', client.key),
    };
  });
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** @returns the address of the server */
  async function listen(listener: Server | Http2SecureServer): Promise<string> {
    servers.push(listener);
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return `127.0.0.1:${(listener.address() as AddressInfo).port}`;
  }

  /** Puts a TLS proxy in front of the product's Temporal. @returns its address */
  function startTlsProxy(options: TlsOptions): Promise<string> {
    const { hostname, port } = new URL(`tcp://${temporalAddress}`);
    return listen(
      createTlsServer({ ...server, ALPNProtocols: ['h2'], ...options }, (socket) => {
        const upstream = connect(Number(port), hostname);
        for (const end of [socket, upstream]) {
          end.on('error', () => undefined);
          end.once('close', () => [socket, upstream].forEach((other) => void other.destroy()));
        }
        socket.pipe(upstream).pipe(socket);
      }),
    );
  }

  const access = (settings: Record<string, string>) => temporalAccess(readConfig(settings));

  test('accepts API and workers with their client certificate', async () => {
    const address = await startTlsProxy({ requestCert: true, rejectUnauthorized: true, ca: client.cert });
    const temporal = await connectTemporal(address, 'default', access(env));
    expect(await registerSearchAttributes(temporal, 'default')).toEqual({ allowed: true, mistyped: [] });
    await temporal.connection.close();
    const native = await NativeConnection.connect({ address, ...access(env) });
    const { capabilities } = await native.workflowService.getSystemInfo({});
    expect(capabilities).toBeTruthy();
    await native.close();
  });

  test('is rejected when its certificate authority is unknown', async () => {
    const address = await startTlsProxy({});
    const { TEMPORAL_TLS_SERVER_NAME } = env as { TEMPORAL_TLS_SERVER_NAME: string };
    await expect(
      connectTemporal(address, 'default', access({ TEMPORAL_TLS: 'true', TEMPORAL_TLS_SERVER_NAME })),
    ).rejects.toThrow(`Temporal does not respond at ${address}`);
  });

  test('receives the API key over TLS with each call, and may leave search attributes to its operator', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const secure = createSecureServer(server);
    secure.on('stream', (stream, headers) => {
      seen.push(headers);
      // Responds to every call with gRPC's status UNIMPLEMENTED.
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true });
    });
    const address = await listen(secure);
    const { TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_SERVER_CA_CERT_PATH } = env as Record<string, string>;
    const settings = { TEMPORAL_API_KEY: 'a-key', TEMPORAL_TLS_SERVER_NAME, TEMPORAL_TLS_SERVER_CA_CERT_PATH };
    const temporal = await connectTemporal(address, 'default', access(settings as Record<string, string>));
    expect(await registerSearchAttributes(temporal, 'default')).toEqual({ allowed: false, mistyped: [] });
    await temporal.connection.close();
    expect(new Set(seen.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer a-key']));
    expect(access({ TEMPORAL_API_KEY: 'a-key' })).toEqual({ apiKey: 'a-key', tls: true });
    expect(access({})).toEqual({});
  });

  test('reports search attributes that have another type', async () => {
    await createNamespace(temporalAddress, 'mistyped');
    const temporal = await connectTemporal(temporalAddress, 'mistyped');
    const { operatorService } = temporal.connection as Connection;
    const { INDEXED_VALUE_TYPE_KEYWORD } = proto.temporal.api.enums.v1.IndexedValueType;
    const searchAttributes = { PostbackSource: INDEXED_VALUE_TYPE_KEYWORD };
    await operatorService.addSearchAttributes({ namespace: 'mistyped', searchAttributes });
    const report = await eventually('the attribute is registered', async () => {
      const found = await registerSearchAttributes(temporal, 'mistyped').catch(() => undefined);
      return found && found.mistyped.length > 0 && found;
    });
    expect(report).toEqual({ allowed: true, mistyped: ['PostbackSource'] });
    await temporal.connection.close();
  });

  test('its key and namespace are not used with the Temporal that the product starts itself', async () => {
    // The shared product was started in an environment that has both.
    // On a busy machine a probe can time out.
    await eventually('Temporal is reached', async () => {
      const response = await fetch(`${sharedProduct().apiUrl}/readyz`);
      return ((await response.json()) as { temporal: boolean }).temporal;
    });
    const temporal = await connectTemporal(temporalAddress, 'default');
    // The worker's schedule is in the namespace of the Temporal that was started.
    expect(await temporal.schedule.getHandle('reconcile').describe()).toMatchObject({ scheduleId: 'reconcile' });
    await temporal.connection.close();
  });
});
