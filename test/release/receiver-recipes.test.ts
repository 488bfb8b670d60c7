import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { webhookHeaders } from '../../domain/webhooks/headers.js';
import { pythonEnvironmentWith, pythonWithCryptography } from '../support/python.js';

// Runs the recipes of docs/receivers.md as a reader would: each code block is saved to the file that it names.

const recipes = readFileSync(join(process.cwd(), 'docs/receivers.md'), 'utf8');
const recipe = (file: string): string => {
  const block = recipes.split('```').find((text) => text.split('\n', 1)[0]?.endsWith(` ${file}`));
  if (!block) throw new Error(`docs/receivers.md has no recipe ${file}`);
  return block.slice(block.indexOf('\n') + 1);
};

const [SECRET, PREVIOUS, CREW_SECRET] = [1, 2, 3].map(
  (byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`,
) as [string, string, string];
const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const MINUTE_MS = 60_000;
/** Headers of an attempt as the service sends them. @param secrets the current secret first */
const hmac = (body: string, secrets = [SECRET], ageMs = 0, delivery_id = 'dlv_1') =>
  webhookHeaders({ delivery_id, event: 'e' }, Buffer.from(body), secrets, new Date(Date.now() - ageMs));
const rsa = (body: string) => {
  const digest = Buffer.from(createHash('sha256').update(body).digest('hex'));
  return { 'x-service-signature': sign('sha256', digest, keys.privateKey).toString('hex') };
};
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
  for (const name of ['koa', 'express', 'fastify', 'standardwebhooks']) {
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

async function start(command: string, args: string[], environment = process.env, secret = SECRET) {
  const env = {
    ...environment,
    PORT: '0',
    SIGNING_SECRET: secret,
    PREVIOUS_SIGNING_SECRET: PREVIOUS,
    CREW_SIGNING_SECRET: CREW_SECRET,
    PUBLIC_KEY_FILE: publicKeyFile,
  };
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  running.push(child);
  const closed = once(child, 'close');
  const errors: string[] = [];
  child.stderr?.on('data', (text) => errors.push(String(text)));
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]();
  const nextLine = async (): Promise<string> => {
    const line = (await lines.next()).value;
    if (line === undefined) await closed;
    return line ?? `ended: ${errors.join('')}`;
  };
  const first = await nextLine();
  const port = /^listening on (\d+)$/.exec(first)?.[1];
  if (!port) throw new Error(`${command} ${args.join(' ')} did not start: ${first}`);
  const post = async (path: string, body: string, signature: Record<string, string> = {}): Promise<number> => {
    const headers = { ...signature, 'Content-Type': 'application/json' };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', body, headers });
    await response.arrayBuffer();
    return response.status;
  };
  /** Leaves within a request, and resolves when the receiver has closed the connection. */
  const abort = async (path: string): Promise<void> => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.end(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc`);
    await once(socket, 'close');
  };
  return { post, nextLine, abort };
}

type Receiver = Awaited<ReturnType<typeof start>>;

/** @param rotated the secrets that sign a webhook after a rotation */
async function expectIndexingReceiver({ post, nextLine, abort }: Receiver, rotated = [PREVIOUS]): Promise<void> {
  const path = '/webhooks/indexing';
  const body = indexed('dlv_1');
  expect(await post(path, body)).toBe(401);
  const { 'webhook-signature': signature = '', ...headers } = hmac(body);
  expect(await post(path, body, { ...headers, 'webhook-signature': signature.slice(3) })).toBe(401);
  expect(await post(path, body, { ...headers, 'webhook-signature': 'v1,AAAA' })).toBe(401);
  expect(await post(path, body, { ...hmac(body), 'webhook-timestamp': '1'.repeat(5_000) })).toBe(401);
  expect(await post(path, body, hmac(indexed('dlv_2')))).toBe(401);
  expect(await post(path, body, hmac(body, [CREW_SECRET]))).toBe(401);
  expect(await post(path, body, hmac(body, [SECRET], 6 * MINUTE_MS))).toBe(401);
  expect(await post(path, body, hmac(body, [SECRET], -6 * MINUTE_MS))).toBe(401);
  expect(await post('/elsewhere', body, hmac(body))).toBe(404);
  await abort(path);
  expect(await post(path, body, hmac(body, [SECRET], 4 * MINUTE_MS))).toBe(204);
  expect(await nextLine()).toBe('handbook/doc ü is completed');
  // A repeat gets a response but is not processed: the next line belongs to the next delivery.
  expect(await post(path, body, hmac(body))).toBe(204);
  const other = indexed('dlv_2').replace('handbook', 'other');
  expect(await post(path, other, hmac(other, rotated))).toBe(204);
  expect(await nextLine()).toBe('other/doc ü is completed');
}

async function expectJobReceiver({ post, nextLine }: Receiver): Promise<void> {
  expect(await post('/webhooks/jobs', jobBody)).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, rsa(indexed('dlv_1')))).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, { 'x-service-signature': 'zz' })).toBe(401);
  expect(await post('/webhooks/jobs', jobBody, rsa(jobBody))).toBe(204);
  expect(await nextLine()).toBe('job 9f0c: success');
}

async function expectCrewReceiver({ post, nextLine }: Receiver): Promise<void> {
  const body = JSON.stringify({ event: 'crew_completed', execution_id: '0b1d', output: 'ü' }, null, 2);
  const event = indexed('dlv_1');
  expect(await post('/webhooks/crews', body)).toBe(401);
  expect(await post('/webhooks/crews', body, hmac(body))).toBe(401);
  expect(await post('/webhooks/crews', event, hmac(event, [CREW_SECRET]))).toBe(400);
  expect(await post('/webhooks/crews', body, hmac(body, [CREW_SECRET], 0, 'dlv_crew'))).toBe(204);
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

describe('recipes with a library of Standard Webhooks', () => {
  const rotated = [PREVIOUS, SECRET];

  test('javascript', async () => {
    writeFileSync(join(folder, 'standardwebhooks.mjs'), recipe('standardwebhooks.mjs'));
    await expectIndexingReceiver(await start(process.execPath, ['standardwebhooks.mjs']), rotated);
  });

  const python = pythonEnvironmentWith('standardwebhooks');
  (python ? test : test.skip)('python (needs python3 and PyPI)', async () => {
    writeFileSync(join(folder, 'standard_webhooks.py'), recipe('standard_webhooks.py'));
    await expectIndexingReceiver(await start('python3', ['standard_webhooks.py'], python!), rotated);
  });

  test('a secret of text is passed as raw', () => {
    const headers = hmac(jobBody, ['a secret of my own']);
    const webhook = new Webhook(Buffer.from('a secret of my own'), { format: 'raw' });
    expect(webhook.verify(jobBody, headers)).toEqual(JSON.parse(jobBody));
  });
});

describe('recipes without a library', () => {
  const has = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;

  test('the first webhook', async () => {
    writeFileSync(join(folder, 'first.mjs'), recipe('first.mjs'));
    await expect(start(process.execPath, ['first.mjs'], process.env, '')).rejects.toThrow('SIGNING_SECRET is empty');
    const { post, nextLine, abort } = await start(process.execPath, ['first.mjs']);
    await abort('/');
    const body = indexed('dlv_1');
    expect(await post('/', body, hmac(body, [PREVIOUS, SECRET]))).toBe(204);
    expect(await nextLine()).toBe('{');
    for (const headers of [{}, hmac(`${body} `), hmac(body, [PREVIOUS]), hmac(body, [SECRET], 10 * MINUTE_MS)])
      expect(await post('/', body, headers)).toBe(401);
  });

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
      'print(verify_job_callback(sys.stdin.buffer.read(), sys.argv[1], open(sys.argv[2]).read()) is not None)';
    writeFileSync(join(folder, 'job_callback.py'), recipe('job_callback.py'));
    const verify = (signature: string) =>
      execFileSync(python, ['-c', script, signature, publicKeyFile], { cwd: folder, input: jobBody }).toString().trim();
    expect(verify(rsa(jobBody)['x-service-signature'])).toBe('True');
    expect(verify(rsa(`${jobBody} `)['x-service-signature'])).toBe('False');
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
