import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { parse } from 'yaml';
import { defaultCacheDir, obtainBinary, obtainEmbeddingModel } from '../../dev-stack/index.js';
import { TASK_QUEUES } from '../../domain/workflow-contract.js';
import { type Client, createClient } from '../support/client.js';
import { eventually, PATIENCE_MS } from '../support/eventually.js';
import { createNamespace, freePorts, makeKey, removeSchedules, sharedProduct } from '../support/product.js';

interface Service {
  build?: string;
  command: string[];
  environment: Record<string, string>;
  /** Absent when the service runs once. */
  healthcheck?: { test: string[] };
}

interface Running {
  process: ChildProcess;
  env: NodeJS.ProcessEnv;
  port: string;
  /** Resolves with 0, or else with the exit code or the signal, and what the process printed to stderr. */
  ended: Promise<number | string>;
}

const NAMESPACE = 'postback';

// Without a container engine: the processes have the commands and variables of the file. Only the addresses, folders and
// ports differ.
describe('the processes of docker-compose.yml', () => {
  const { temporalAddress } = sharedProduct();
  const file = parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }) as {
    services: Record<string, Service>;
  };
  const services = Object.entries(file.services).filter(([, service]) => service.build);
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-compose-'));
  const running = new Map<string, Running>();
  let mongodb: MongoMemoryReplSet;
  let internalUrl: string;
  let releasePorts: (() => void) | undefined;
  let api: Client;

  beforeAll(async () => {
    await createNamespace(temporalAddress, NAMESPACE);
    const source = { cacheDir: defaultCacheDir(process.env), env: process.env, log: () => undefined };
    const model = await obtainEmbeddingModel(source);
    if ('unavailable' in model) throw new Error(model.unavailable);
    mongodb = await startMongod(await obtainBinary('mongod', source));
    const database = mongodb.getUri('postback').replace('mongodb://', 'mongodb://postback:of-the-product@');
    const local: Record<string, string> = {
      TEMPORAL_ADDRESS: temporalAddress,
      MONGODB_URI: database,
      POSTBACK_DATA_DIR: dataDir,
      POSTBACK_EMBEDDING_MODEL_DIR: dirname(model.modelPath),
      POSTBACK_EMBEDDER_SOCKET: join(dataDir, 'embedder.sock'),
      POSTBACK_SEALING_KEY: Buffer.alloc(32, 7).toString('base64'),
      POSTBACK_API_HOST: '127.0.0.1',
    };
    const { ports, release } = await freePorts(
      dataDir,
      Object.fromEntries(['internal', ...services.map(([name]) => name)].map((name) => [name, 0 as const])),
    );
    releasePorts = release;
    internalUrl = `http://127.0.0.1:${ports.internal}`;
    for (const [name, service] of services) {
      const port = String(ports[name]);
      const [command, ...args] = service.command;
      const overrides = {
        ...local,
        POSTBACK_API_PORT: port,
        POSTBACK_WORKER_HEALTH_PORT: port,
        POSTBACK_INTERNAL_HOST: '127.0.0.1',
        POSTBACK_INTERNAL_PORT: String(ports.internal),
      };
      const env = { PATH: process.env.PATH, ...environment(service.environment, overrides) };
      const child = spawn(command!, args, {
        env,
        // The IPC channel closes when this process ends, so that they end too.
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      });
      let printed = '';
      child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
        printed += piece;
      });
      const ended = once(child, 'close').then(([code, signal]) => (code === 0 ? 0 : `${code ?? signal}: ${printed}`));
      running.set(name, { process: child, env, port, ended });
    }
    api = createClient(`http://127.0.0.1:${running.get('api')!.port}`, (await makeKey(database, 'compose')).key);
  });

  afterAll(async () => {
    // Stops processes that remain after a failed test; another test covers the regular stop.
    for (const { process } of running.values()) process.kill('SIGKILL');
    await Promise.all([...running.values()].map(({ ended }) => ended));
    await mongodb?.stop();
    await removeSchedules(temporalAddress, NAMESPACE);
    releasePorts?.();
    rmSync(dataDir, { recursive: true, force: true });
  });

  test('become healthy according to the health checks of the file', async () => {
    const names = ['api', 'embedder', 'worker-promotion', ...TASK_QUEUES.map((queue) => `worker-${queue}`)];
    expect([...running.keys()].sort()).toEqual(names.sort());
    for (const [name, { healthcheck }] of services) {
      if (!healthcheck) continue;
      const { env, port, ended } = running.get(name)!;
      const early = ended.then((reason) => `ended early: ${reason}`);
      const [kind, command, ...args] = healthcheck.test;
      expect(kind).toBe('CMD');
      const health = await eventually(`${name} healthy`, async () => {
        const check = spawn(
          command!,
          args.map((arg) => arg.replace(/:808[01]\//, `:${port}/`)),
          { env, stdio: 'ignore' },
        );
        const result = once(check, 'exit').then(([code]) => code === 0 && 'healthy');
        return Promise.race([result, early]);
      });
      expect([name, health]).toEqual([name, 'healthy']);
    }
  });

  test('index an item together', async () => {
    await api.createDatabase('shared');
    await api.ingest({
      database: 'shared',
      memories: JSON.stringify([{ id: 'one', text: 'Indexed by several processes.' }]),
    });
    expect(await api.ended('shared', 'one')).toMatchObject({ indexing_status: 'completed' });
  });

  test('serve metrics and the details of readiness on the internal port only', async () => {
    const apiUrl = `http://127.0.0.1:${running.get('api')!.port}`;
    const ready = await eventually('ready', async () => {
      const response = await fetch(`${apiUrl}/readyz`);
      return response.status === 200 && response.json();
    });
    expect(ready).toEqual({ status: 'ready' });
    expect((await fetch(`${apiUrl}/metrics`)).status).toBe(404);
    expect((await fetch(`${apiUrl}/docs`)).status).toBe(200);
    const details = await eventually('ready on the internal port', async () => {
      const response = await fetch(`${internalUrl}/readyz`);
      return response.status === 200 && response.json();
    });
    expect(details).toMatchObject({ status: 'ready', mongodb: true, embeddings: { available: true } });
    expect(await (await fetch(`${internalUrl}/metrics`)).text()).toMatch(/route="\/readyz"/);
    expect((await fetch(`${internalUrl}/databases`)).status).toBe(404);
  });

  test('stop on SIGTERM with exit code 0', async () => {
    for (const { process } of running.values()) process.kill('SIGTERM');
    for (const [name, { ended }] of running) expect([name, await ended]).toEqual([name, 0]);
  });
});

/** A server that asks for passwords, with the product's user as the file creates it. */
function startMongod(systemBinary: string): Promise<MongoMemoryReplSet> {
  const script = readFileSync('docker-compose.yml', 'utf8');
  const [, role, database] = /roles: \[\{ role: '(\w+)', db: '(\w+)' \}\]/.exec(script)!;
  const user = {
    createUser: 'postback',
    pwd: 'of-the-product',
    database: database!,
    roles: [{ role: role!, db: database! }],
  };
  // Any version will do.
  process.env.MONGOMS_SYSTEM_BINARY_VERSION_CHECK = 'false';
  return MongoMemoryReplSet.create({
    binary: { systemBinary },
    instanceOpts: [{ launchTimeout: PATIENCE_MS }],
    replSet: { count: 1, name: 'rs0', storageEngine: 'wiredTiger', auth: { enable: true, extraUsers: [user] } },
  });
}

/** The service's variables, with local values for addresses, folders and ports, and the file's defaults. */
function environment(variables: Record<string, string>, local: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [name, local[name] ?? value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')]),
  );
}
