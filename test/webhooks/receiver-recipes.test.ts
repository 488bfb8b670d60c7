import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { pythonWithCryptography } from '../support/python.js';

// Runs the recipes of docs/receivers.md as a reader would: each code block is saved to the file that it names.

const recipes = readFileSync(join(process.cwd(), 'docs/receivers.md'), 'utf8');
const recipe = (file: string): string => {
  const block = recipes.split('```').find((text) => text.split('\n', 1)[0]?.endsWith(` ${file}`));
  if (!block) throw new Error(`docs/receivers.md has no recipe ${file}`);
  return block.slice(block.indexOf('\n') + 1);
};

const SECRET = 'the-current-secret';
const PREVIOUS = 'the-previous-secret';
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const hmac = (body: string, secret = SECRET) => `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
const rsa = (body: string) =>
  sign('sha256', Buffer.from(createHash('sha256').update(body).digest('hex')), keys.privateKey).toString('hex');
const indexed = (delivery: string) =>
  JSON.stringify({
    event: 'indexing.status_changed',
    delivery_id: delivery,
    id: 'doc ü',
    database: 'handbook',
    status: 'completed',
  });
const jobBody = JSON.stringify(
  { event: 'async_job_completed', job_id: '9f0c', status: 'success', output: {} },
  null,
  2,
);

const folder = mkdtempSync(join(tmpdir(), 'recipes-'));
const publicKeyFile = join(folder, 'public-key.pem');
const running: ChildProcess[] = [];

/** Creates a project with the packages of the recipes, and `postback-receiver` as it would be published. */
beforeAll(() => {
  // As the service lists them during a rotation: the new key, then the key that signs these callbacks.
  const pems = [generateKeyPairSync('rsa', { modulusLength: 2048 }), keys].map(({ publicKey }) =>
    publicKey.export({ type: 'spki', format: 'pem' }),
  );
  writeFileSync(publicKeyFile, pems.join(''));
  const library = join(folder, 'node_modules/postback-receiver');
  mkdirSync(library, { recursive: true });
  cpSync(join(process.cwd(), 'receiver/package.json'), join(library, 'package.json'));
  cpSync(dirname(fileURLToPath(new URL('../../receiver/index.js', import.meta.url))), join(library, 'dist'), {
    recursive: true,
  });
  for (const name of ['koa', 'express', 'fastify']) {
    const installed = join(process.cwd(), 'node_modules', name);
    if (existsSync(installed)) symlinkSync(installed, join(folder, 'node_modules', name));
  }
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    if (child.exitCode === null && child.kill()) await once(child, 'exit');
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function start(command: string, args: string[]) {
  const env = {
    ...process.env,
    PORT: '0',
    SIGNING_SECRET: SECRET,
    PREVIOUS_SIGNING_SECRET: PREVIOUS,
    PUBLIC_KEY_FILE: publicKeyFile,
  };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  const errors: string[] = [];
  child.stderr?.on('data', (text) => errors.push(String(text)));
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => (await lines.next()).value ?? `ended: ${errors.join('')}`;
  const first = await nextLine();
  const port = /^listening on (\d+)$/.exec(first)?.[1];
  if (!port) throw new Error(`${command} ${args.join(' ')} did not start: ${first}`);
  const post = async (path: string, body: string, signature?: string): Promise<number> => {
    const headers = { 'content-type': 'application/json', ...(signature && { 'x-service-signature': signature }) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  };
  return { post, nextLine };
}

type Receiver = Awaited<ReturnType<typeof start>>;

async function expectIndexingReceiver({ post, nextLine }: Receiver): Promise<void> {
  const path = '/webhooks/indexing';
  expect(await post(path, indexed('dlv_1'))).toBe(401);
  expect(await post(path, indexed('dlv_1'), hmac(indexed('dlv_1')).slice(7))).toBe(401);
  expect(await post(path, indexed('dlv_1'), hmac(indexed('dlv_2')))).toBe(401);
  expect(await post(path, indexed('dlv_1'), hmac(indexed('dlv_1'), ''))).toBe(401);
  expect(await post('/elsewhere', indexed('dlv_1'), hmac(indexed('dlv_1')))).toBe(404);
  expect(await post(path, indexed('dlv_1'), hmac(indexed('dlv_1')))).toBe(204);
  expect(await nextLine()).toBe('handbook/doc ü is completed');
  // A repeat gets a response but is not processed: the next line belongs to the next delivery.
  expect(await post(path, indexed('dlv_1'), hmac(indexed('dlv_1')))).toBe(204);
  const other = indexed('dlv_2').replace('handbook', 'other');
  expect(await post(path, other, hmac(other, PREVIOUS))).toBe(204);
  expect(await nextLine()).toBe('other/doc ü is completed');
}

async function expectJobReceiver({ post, nextLine }: Receiver): Promise<void> {
  expect(await post('/webhooks/jobs', jobBody)).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, rsa(indexed('dlv_1')))).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, 'zz')).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, rsa(jobBody))).toBe(204);
  expect(await nextLine()).toBe('job 9f0c: success');
}

async function expectCrewReceiver({ post, nextLine }: Receiver): Promise<void> {
  const body = JSON.stringify({ event: 'crew_completed', execution_id: '0b1d', output: 'ü' }, null, 2);
  expect(await post('/webhooks/crews', body)).toBe(401);
  expect(await post('/webhooks/crews', body, hmac(indexed('dlv_1')))).toBe(401);
  expect(await post('/webhooks/crews', indexed('dlv_1'), hmac(indexed('dlv_1')))).toBe(400);
  expect(await post('/webhooks/crews', body, hmac(body, PREVIOUS))).toBe(204);
  expect(await nextLine()).toBe('crew 0b1d: crew_completed');
}

describe('recipes with the library', () => {
  test.each(['node', 'express', 'koa', 'fastify'])('%s', async (name) => {
    writeFileSync(join(folder, `${name}.mjs`), recipe(`${name}.mjs`));
    const receiver = await start(process.execPath, [`${name}.mjs`]);
    await expectIndexingReceiver(receiver);
    if (name !== 'node') return;
    await expectJobReceiver(receiver);
    await expectCrewReceiver(receiver);
  });
});

describe('recipes without the library', () => {
  const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

  test('python', async () => {
    if (!has('python3', '--version'))
      throw new Error('python3 is not on the PATH: install it to run the Python recipe');
    writeFileSync(join(folder, 'receiver.py'), recipe('receiver.py'));
    await expectIndexingReceiver(await start('python3', ['receiver.py']));
  });

  test('python, job callbacks', () => {
    const python = pythonWithCryptography();
    const script =
      'import sys\nfrom job_callback import *\n' +
      'print(verify_job_callback(sys.stdin.buffer.read(), sys.argv[1], open(sys.argv[2], "rb").read()) is not None)';
    writeFileSync(join(folder, 'job_callback.py'), recipe('job_callback.py'));
    const verify = (signature: string) =>
      execFileSync(python, ['-c', script, signature, publicKeyFile], { cwd: folder, input: jobBody }).toString().trim();
    expect(verify(rsa(jobBody))).toBe('True');
    expect(verify(rsa(`${jobBody} `))).toBe('False');
    expect(verify('zz')).toBe('False');
  });

  const go = has('go', 'version') ? test : test.skip;
  go('go (where it is installed)', async () => {
    writeFileSync(join(folder, 'main.go'), recipe('main.go'));
    const env = { ...process.env, GOPROXY: 'off', GOTOOLCHAIN: 'local' };
    execFileSync('go', ['build', '-o', 'receiver-go', 'main.go'], { cwd: folder, env });
    const receiver = await start(join(folder, 'receiver-go'), []);
    await expectIndexingReceiver(receiver);
    await expectJobReceiver(receiver);
  });
});
