import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { startInstance } from '../cli/instance.js';
import { acquireProcessLock, type ProcessLock } from '../dev-stack/process-lock.js';
import { createClient } from './support/client.js';
import { runCommand } from './support/command.js';
import { clientOf } from './support/organisation.js';
import { outputOf } from './support/output.js';
import { databaseBeside, freePorts, sharedProduct, withDb } from './support/product.js';

describe('the postback command', () => {
  const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-cli-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  const settings = { MONGODB_URI: mongodbUri, POSTBACK_DATA_DIR: dataDir };
  const postback = (args: string[], env: Record<string, string> = {}) => runCommand(args, { ...settings, ...env });

  /** Runs the command as a process until it exits. */
  async function postbackProcess(args: string[], env: Record<string, string> = {}) {
    const child = spawn(process.execPath, ['dist/cli/main.js', ...args], {
      env: { ...process.env, ...settings, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const output = outputOf(child);
    const [code] = await once(child, 'close');
    return { code: code as number, ...output };
  }

  test('rejects an expiry date in the past for a new key', async () => {
    const rejected = await postback(['keys', 'create', '--org', 'cli', '--expires', '2001-01-31']);
    expect(rejected.code).toBe(1);
    expect(rejected.err).toMatch(/--expires.*a date in the future/);
  });

  test('creates no key for the organisation of the notices to the operator', async () => {
    const { code, err } = await postback(['keys', 'create', '--org', '(operator)']);
    expect([code, err]).toEqual([1, expect.stringContaining('The organisation "(operator)" is reserved for notices.')]);
  });

  test('a key expires after a year unless it is created with another expiry, and has the scopes that are named', async () => {
    const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
    for (const [args, expected] of [
      [[], `Scopes: read, write, admin. Expires: ${inDays(365)}T`],
      [['--expires', '90d', '--scopes', 'read'], `Scopes: read. Expires: ${inDays(90)}T`],
      [['--expires', 'never', '--scopes', 'write,read'], 'Scopes: write, read. Expires: never.'],
    ] as const) {
      const created = await postback(['keys', 'create', '--org', 'cli', ...args]);
      expect([created.code, created.err]).toEqual([0, expect.stringContaining(expected)]);
    }
    const { out } = await postback(['keys', 'create', '--help']);
    expect(out).toMatch(/--expires.*\n?.*never/);
    expect(out).toMatch(/default: 365d/);
    expect(await postback(['keys', 'create', '--org', 'cli', '--scopes', 'read,root'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('read, write, admin'),
    });
  });

  test('creates a key for the API, lists it without showing it, and revokes it', async () => {
    const created = await postbackProcess(['keys', 'create', '--org', 'cli', '--label', 'for the test']);
    expect(created.code).toBe(0);
    const [, id, key] = /^(key_\w+).*\n(pbk_api_[\w-]{43})$/m.exec(created.out)!;
    const api = createClient(apiUrl, key!);
    expect((await api.get('/webhooks/indexing')).status).toBe(200);
    const listed = await postback(['keys', 'list', '--org', 'cli']);
    expect(listed.out).toMatch(new RegExp(`^${id} +cli +api .* active$`, 'm'));
    expect(listed.out).not.toContain(key);
    expect((await postback(['keys', 'revoke', id!])).code).toBe(0);
    expect((await api.get('/webhooks/indexing')).status).toBe(401);
    expect(await postback(['keys', 'revoke', id!])).toMatchObject({
      code: 1,
      err: expect.stringContaining('no active key'),
    });
  });

  test('sets, shows and clears the limits of an organisation', async () => {
    const org = 'cli-limits';
    const limits = (...args: string[]) =>
      postback(['orgs', 'limits', ...args, '--org', org, '--json'], { POSTBACK_QUOTA_DATABASES: '7' });
    const set = await limits('set', 'items=5', 'databases=1', 'uploads=0');
    expect(JSON.parse(set.out)).toMatchObject({
      org,
      quotas: {
        items: { used: 0, limit: 5, set_for: 'organisation' },
        databases: { used: 0, limit: 1 },
        uploads: { limit: 0 },
        connectors: { used: 0, limit: null, set_for: 'all' },
      },
    });
    const api = await clientOf(org);
    await api.createDatabase('one');
    expect((await api.post('/databases', { database: 'two' })).status).toBe(403);
    const changed = await limits('set', 'databases=unlimited');
    expect(JSON.parse(changed.out).quotas).toMatchObject({ items: { limit: 5 }, databases: { used: 1, limit: null } });
    expect((await api.post('/databases', { database: 'two' })).status).toBe(202);
    const cleared = await limits('clear', 'databases');
    expect(JSON.parse(cleared.out).quotas).toMatchObject({
      items: { limit: 5 },
      databases: { limit: 7, set_for: 'all' },
    });
    expect(JSON.parse((await limits('clear')).out).quotas.items).toMatchObject({ limit: null, set_for: 'all' });
    expect((await postback(['orgs', 'limits', 'show', '--org', org])).out).toMatch(/databases +2 +unlimited /);
    for (const wrong of ['items', 'items=many', 'items=-1', 'dogs=1']) {
      expect(await limits('set', wrong)).toMatchObject({ code: 1, err: expect.stringMatching(/not a limit|no quota/) });
    }
  });

  test('names the unknown kind of key or the invalid setting that it rejects', async () => {
    expect(await postback(['keys', 'create', '--org', 'cli', '--kind', 'root'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('payment_secret'),
    });
    expect(await postback(['keys', 'list'], { POSTBACK_MAX_FILES: 'many' })).toMatchObject({
      code: 1,
      err: expect.stringContaining('POSTBACK_MAX_FILES'),
    });
  });

  test('a process that cannot reach Temporal reports it and exits, so that its supervisor can restart it', async () => {
    const env = { TEMPORAL_ADDRESS: '127.0.0.1:1', POSTBACK_SEALING_KEY: Buffer.alloc(32, 1).toString('base64') };
    // At the same time, because each tries for ten seconds.
    const ended = await Promise.all(['api', 'worker'].map((name) => postbackProcess([name], env)));
    for (const end of ended) expect(end).toMatchObject({ code: 1, err: expect.stringContaining('127.0.0.1:1') });
  });

  test('wrong use exits with code 2, and completion knows commands and choices', async () => {
    expect(await postbackProcess(['query', 'fees'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('--database'),
    });
    expect((await postbackProcess(['complete', '--', 'databases', ''])).out).toContain('create\tcreate a database');
    expect((await postbackProcess(['completion', 'fish'])).out).toContain('fish completion for postback');
  });

  test('a second start in the same folder reports the address of the first', async () => {
    const { lock } = acquireProcessLock(join(dataDir, 'instance.json')) as { lock: ProcessLock };
    writeFileSync(join(dataDir, 'dev.json'), JSON.stringify({ api_url: 'http://127.0.0.1:1234' }));
    expect(await postbackProcess(['start'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/already running.*http:\/\/127\.0\.0\.1:1234/),
    });
    lock.release();
    rmSync(join(dataDir, 'dev.json'));
  });

  test('a start takes the ports that the user names, and not those of the last run', async () => {
    const folders = ['last', 'named'].map((name) => join(dataDir, name));
    for (const folder of folders) mkdirSync(folder);
    const last = await freePorts(folders[0]!, { api: 0 });
    const { ports, release } = await freePorts(folders[1]!, { api: 0, embedder: 0 });
    last.release();
    release();
    const start = (env: Record<string, string>) =>
      startInstance(
        {
          ...process.env,
          MONGODB_URI: databaseBeside(mongodbUri, 'named-ports'),
          TEMPORAL_ADDRESS: temporalAddress,
          POSTBACK_DATA_DIR: folders[0]!,
          POSTBACK_API_HOST: '::1',
          POSTBACK_API_PORT: `${ports.api}`,
          ...env,
        },
        () => undefined,
        // The addresses are known before the processes are ready.
        Promise.resolve(),
      );
    const named = await start({ POSTBACK_EMBEDDER_PORT: `${ports.embedder}` });
    await named.stop();
    expect(named.apiUrl).toBe(`http://[::1]:${ports.api}`);
    expect(named.env).toMatchObject({
      POSTBACK_PUBLIC_URL: named.apiUrl,
      POSTBACK_EMBEDDER_PORT: `${ports.embedder}`,
      POSTBACK_EMBEDDER_URL: `http://127.0.0.1:${ports.embedder}`,
    });
    const any = await start({ POSTBACK_EMBEDDER_PORT: '0' });
    await any.stop();
    expect(any.env).toMatchObject({ POSTBACK_EMBEDDER_SOCKET: expect.any(String), POSTBACK_EMBEDDER_PORT: '' });
  });

  test('a new signing key signs new jobs; the old key stays listed while it is needed', async () => {
    const env = {
      POSTBACK_SEALING_KEY: Buffer.alloc(32, 1).toString('base64'),
      MONGODB_URI: databaseBeside(mongodbUri, 'signing-keys'),
    };
    const before = (await postback(['signing-key', 'show', '--org', 'acme'], env)).out;
    expect(before).toMatch(/^-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----\n$/);
    expect((await postback(['signing-key', 'show', '--org', 'acme'], env)).out).toBe(before);
    expect(await postback(['signing-key', 'rotate', '--org', 'acme'], env)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^sig_\w+ signs new jobs of acme/),
    });
    const after = (await postback(['signing-key', 'show', '--org', 'acme'], env)).out;
    expect(after.endsWith(before)).toBe(true);
    expect(after.length).toBe(2 * before.length);
    const later = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await withDb(env.MONGODB_URI, (db) =>
      db.collection('signing_keys').updateOne({ current: false }, { $set: { retired_at: later } }),
    );
    expect((await postback(['signing-key', 'show', '--org', 'acme'], env)).out).toBe(after.slice(0, before.length));
  });

  test('makes no key to seal a signing key with: the service could not open it', async () => {
    const env = { POSTBACK_DATA_DIR: join(dataDir, 'elsewhere'), POSTBACK_SEALING_KEY: '' };
    expect(await postback(['signing-key', 'rotate', '--org', 'unsealed'], env)).toMatchObject({
      code: 1,
      err: expect.stringContaining('POSTBACK_SEALING_KEY is not set'),
    });
    expect(existsSync(join(env.POSTBACK_DATA_DIR, 'sealing.key'))).toBe(false);
  });

  test('an unknown database has no index to write again or to move', async () => {
    const env = { POSTBACK_DATA_DIR: sharedProduct().dataDir, TEMPORAL_ADDRESS: temporalAddress };
    for (const args of [['rebuild'], ['rebuild', '--embed'], ['move', '--to', 'opensearch']]) {
      const { code, out, err } = await postback(['index', ...args, '--database', 'tnt_none'], env);
      expect([code, out, err]).toEqual([1, '', expect.stringContaining('no database with the internal id "tnt_none"')]);
    }
  });

  test('writes the search index again from MongoDB', async () => {
    const api = await clientOf('rebuilt');
    await api.createDatabase('rebuilt');
    await api.ingest({
      database: 'rebuilt',
      memories: JSON.stringify([
        { id: 'a', text: 'The heron stands in the reeds.', additional_metadata: { place: 'lake' } },
      ]),
    });
    await api.ended('rebuilt', 'a');
    const databaseId = await withDb(
      mongodbUri,
      async (db) => (await db.collection('databases').findOne({ name: 'rebuilt' }))!._id,
    );
    const env = { POSTBACK_DATA_DIR: sharedProduct().dataDir };
    const rebuilt = await postback(['index', 'rebuild', '--database', String(databaseId)], env);
    expect(rebuilt).toMatchObject({ code: 0, out: expect.stringMatching(/rebuilt\/rebuilt .*: 1 chunks/) });
    for (const query_by of ['text', 'vector']) {
      const { chunks } = (await api.post('/query', { database: 'rebuilt', query: 'heron', query_by })).body.data;
      expect(chunks.map((chunk: { source_id: string }) => chunk.source_id)).toEqual(['a']);
    }
    for (const [place, count] of [
      ['lake', 1],
      ['sea', 0],
    ]) {
      const metadata_filters = { additional_metadata: { place } };
      const { chunks } = (await api.post('/query', { database: 'rebuilt', query: 'heron', metadata_filters })).body
        .data;
      expect([place, chunks.length]).toEqual([place, count]);
    }
  });
});
