import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { defaultCacheDir } from '../../dev-stack/index.js';
import { createClient } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { outputOf } from '../support/output.js';

const runFile = promisify(execFile);

/** Uses both libraries, and prints what they returned. */
const CONSUMER = `import { bodyOf, createPostback, type Schemas } from 'postback-client';
import { verifyIndexingWebhook, type IndexingEvent } from 'postback-receiver';

const [url, key, secret, body, signature] = process.argv.slice(2) as [string, string, string, string, string];
const event: IndexingEvent = verifyIndexingWebhook(
  body,
  { 'webhook-id': 'msg_1', 'webhook-timestamp': '1700000000', 'webhook-signature': signature },
  secret,
  { toleranceSeconds: Infinity },
);
const query: Schemas['QueryDatabaseRequest'] = { database: 'none', query: event.id };
const failure = await bodyOf(createPostback({ url, key }).POST('/query', { body: query })).catch((error) => error);
console.log(event.id, failure.code);
`;

/** What a clone does not have, besides the compiled code, which takes half a minute to make. */
const NOT_CLONED = new Set(['.git', '.postback', 'node_modules', 'packages']);

describe('the packages that npm publishes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-packages-'));
  const npm = (...args: string[]) => runFile('npm', args, { cwd: folder });
  const installed = join(folder, 'node_modules', 'postback');
  const postback = join(installed, 'bin', 'postback.mjs');
  const cache = join(folder, 'cache');
  const clone = join(folder, 'clone');
  const environment = { ...process.env, XDG_CACHE_HOME: cache, POSTBACK_API_PORT: '0' };
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeAll(async () => {
    // A copy, because npm packs what package.json says, and bin/pack.mjs changes it while npm packs.
    const isCloned = (path: string) =>
      !relative('.', path)
        .split(sep)
        .some((name) => NOT_CLONED.has(name));
    cpSync('.', clone, { recursive: true, preserveTimestamps: true, filter: isCloned });
    symlinkSync(resolve('node_modules'), join(clone, 'node_modules'));
    for (const path of ['.', 'receiver', 'client']) {
      const packed = await runFile('npm', ['pack', '--pack-destination', folder], { cwd: join(clone, path) });
      if (path === '.') expect(packed.stderr).not.toContain('Compiling');
    }
    // So that nothing is downloaded.
    const needed = ['openapi-fetch', 'openapi-typescript-helpers'].map((name) => resolve('node_modules', name));
    await npm('pack', '--ignore-scripts', '--silent', ...needed);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    const archives = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
    await npm('install', '--offline', '--no-audit', '--no-fund', ...archives.map((name) => `./${name}`));

    const { nameOf } = (await import(pathToFileURL('bin/release.mjs').href)) as { nameOf(text: string): string };
    const release = join(cache, 'postback', 'releases', nameOf(readFileSync('package-lock.json', 'utf8')));
    mkdirSync(release, { recursive: true });
    // What the first start would download, and the servers.
    symlinkSync(resolve('node_modules'), join(release, 'node_modules'));
    const downloads = defaultCacheDir(process.env);
    for (const name of ['bin', 'models']) symlinkSync(join(downloads, name), join(cache, 'postback', name));
  });

  test('postback has its compiled code, no sources, and nothing that npm installs before its first start', () => {
    expect(readdirSync(installed)).not.toContain('tsconfig.json');
    for (const name of ['test', 'bench']) expect(readdirSync(join(installed, 'dist'))).not.toContain(name);
    expect(
      readdirSync(installed, { recursive: true }).filter((name) => /\.ts$|\.map$|\.tgz$/.test(String(name))),
    ).toEqual([]);
    expect(JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'))).not.toHaveProperty('dependencies');
    expect(readFileSync(join(installed, 'dist', 'release', 'lock.json'))).toEqual(readFileSync('package-lock.json'));
  });

  test('npm pack leaves the clone as it was, and npm run pack writes the same three packages', async () => {
    const filesOf = async (archive: string) => (await runFile('tar', ['-tzf', archive])).stdout.split('\n').sort();
    const manifest = () => readFileSync(join(clone, 'package.json'), 'utf8');
    expect(manifest()).toBe(readFileSync('package.json', 'utf8'));
    const target = join(folder, 'again');
    await runFile(process.execPath, ['bin/pack.mjs', target], { cwd: clone });
    expect(manifest()).toBe(readFileSync('package.json', 'utf8'));
    expect(existsSync(join(clone, 'dist', 'release'))).toBe(false);
    expect(readdirSync(target)).toHaveLength(3);
    for (const name of readdirSync(target)) {
      expect(await filesOf(join(target, name))).toEqual(await filesOf(join(folder, name)));
    }
  });

  test('a package that was made without the scripts says how to make it', async () => {
    const unscripted = join(folder, 'unscripted');
    for (const name of ['tsconfig.json', 'bin']) cpSync(name, join(unscripted, name), { recursive: true });
    const started = runFile(process.execPath, [join(unscripted, 'bin', 'postback.mjs'), 'start']);
    await expect(started).rejects.toThrow(/Make it again with: npm run pack/);
  });

  test('postback prints its version and its commands', async () => {
    const run = (option: string) => runFile(process.execPath, [postback, option], { env: environment });
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    expect((await run('--version')).stdout.trim()).toBe(version);
    expect((await run('--help')).stdout).toMatch(/^Usage: postback/);
  });

  describe('an installed postback that was started in an empty folder', () => {
    const data = join(folder, '.postback');
    let child: ChildProcess;
    let ended: Promise<unknown>;
    let output: { out: string };
    let apiUrl: string;
    let key: string;

    beforeAll(async () => {
      child = spawn(process.execPath, [postback, 'start'], {
        cwd: folder,
        env: environment,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      output = outputOf(child);
      ended = once(child, 'close');
      const development = join(data, 'dev.json');
      await eventually('the instance', () => child.exitCode !== null || existsSync(development));
      const { api_url, keys } = JSON.parse(readFileSync(development, 'utf8'));
      [apiUrl, key] = [api_url, keys.api];
    });
    afterAll(async () => {
      child.kill('SIGTERM');
      await ended;
    });

    test('serves its pages; the client and the receiver compile and work with it', async () => {
      const list = await (await fetch(`${apiUrl}/docs/guides`)).text();
      const guides = [...list.matchAll(/href="(\/docs\/guides\/[\w-]+)"/g)].map(([, path]) => path!);
      expect(guides).toContain('/docs/guides/operators');
      for (const path of ['/healthz', '/docs', '/console', ...guides, '/docs/guides/pictures/work.png']) {
        expect([path, (await fetch(apiUrl + path)).status]).toEqual([path, 200]);
      }
      writeFileSync(join(folder, 'consumer.ts'), CONSUMER);
      const options = [
        '--module',
        'nodenext',
        '--target',
        'es2023',
        '--strict',
        '--types',
        'node',
        '--typeRoots',
        resolve('node_modules', '@types'),
      ];
      const compiler = resolve('node_modules', 'typescript', 'bin', 'tsc');
      await runFile(process.execPath, [compiler, ...options, 'consumer.ts'], { cwd: folder });
      const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
      const body = JSON.stringify({
        event: 'indexing.status_changed',
        id: 'note-1',
        status: 'completed',
        delivery_id: 'whd_1',
      });
      const hmac = createHmac('sha256', Buffer.alloc(32, 1)).update(`msg_1.1700000000.${body}`).digest('base64');
      const used = await runFile(process.execPath, ['consumer.js', apiUrl, key, secret, body, `v1,${hmac}`], {
        cwd: folder,
      });
      expect(used.stdout.trim()).toBe('note-1 DATABASE_NOT_FOUND');
    });

    test('starts servers that are killed again, at the same addresses, and goes on', async () => {
      const client = createClient(apiUrl, key);
      const pids = () =>
        ['mongodb', 'temporal'].map((name) => JSON.parse(readFileSync(join(data, `${name}.pid`), 'utf8')).pid);
      await client.createDatabase('notes');
      const note = { database: 'notes', memories: JSON.stringify([{ id: 'after', text: 'Rain.' }]) };
      const killed = pids();
      for (const pid of killed) process.kill(pid, 'SIGKILL');
      await eventually('new servers', () => pids().every((pid) => !killed.includes(pid)));
      await eventually('an accepted item', async () => (await client.ingest(note)).status === 202);
      expect(await client.ended('notes', 'after')).toMatchObject({ indexing_status: 'completed' });
      for (const name of ['MongoDB', 'Temporal']) {
        const lines = new RegExp(`${name} ended with code .*${name} runs again`, 's');
        await eventually(`the lines about ${name}`, () => lines.test(output.out));
      }
    });

    test('ends with exit code 0 on SIGTERM', async () => {
      child.kill('SIGTERM');
      await ended;
      expect(child.exitCode).toBe(0);
    });
  });
});
