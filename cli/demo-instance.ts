import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Config } from '../runtime/config.js';
import { createApiKeys } from '../storage/api-keys.js';
import { connectCollections } from '../storage/collections.js';
import { type DevelopmentFile, readDevelopmentFile } from './running-instance.js';

const MAIN = fileURLToPath(new URL('./main.js', import.meta.url));

export interface DemoInstance {
  file: DevelopmentFile;
  /** Of an organisation of the demo's own, so that no registration of yours is replaced. */
  key: string;
  /** It was started for the demo and ends with it. */
  own: boolean;
  /** Revokes the key, and ends the instance if the demo has started it. */
  stop(): Promise<void>;
}

/**
 * The instance that runs in this folder, if it may speak to a receiver on this machine, else one of the demo's own.
 */
export async function demoInstance(config: Config): Promise<DemoInstance> {
  const running = await answering(readDevelopmentFile(config.POSTBACK_DATA_DIR));
  if (!running) return startOwn();
  if (!(await speaksToLoopback(running))) {
    console.log(
      [
        `Postback runs at ${running.api_url}, but sends webhooks to public addresses only; the demo receives them here.`,
        'To see the demo on that instance, start it with  OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 npm start',
      ].join('\n'),
    );
    return startOwn();
  }
  console.log(`Using the instance at ${running.api_url}`);
  return withKey(running, false, async () => undefined);
}

async function answering(file: DevelopmentFile | null): Promise<DevelopmentFile | null> {
  if (!file) return null;
  const ready = await fetch(`${file.api_url}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
  return ready ? file : null;
}

/** `/readyz` tells whether webhooks may go to this machine. */
async function speaksToLoopback(file: DevelopmentFile): Promise<boolean> {
  const { outbound } = (await (await fetch(`${file.api_url}/readyz`)).json()) as { outbound?: { loopback: boolean } };
  return outbound?.loopback ?? false;
}

async function startOwn(): Promise<DemoInstance> {
  console.log('Starting an instance for the demo (it is removed afterwards) …');
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-demo-'));
  const child = spawn(process.execPath, [MAIN, 'start'], {
    env: { ...process.env, POSTBACK_DATA_DIR: dataDir, OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' },
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGINT');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  };
  child.stdout!.on('data', () => undefined);
  const ready = new Promise<void>((resolve) => child.once('message', () => resolve()));
  await Promise.race([ready, ended.then(() => Promise.reject(new Error('the instance for the demo did not start')))]);
  const file = readDevelopmentFile(dataDir);
  if (!file) throw new Error('the instance for the demo left no address');
  return withKey(file, true, stop);
}

async function withKey(file: DevelopmentFile, own: boolean, stop: () => Promise<void>): Promise<DemoInstance> {
  const collections = await connectCollections(file.mongodb_uri, 'postback-demo');
  const keys = createApiKeys(collections);
  const { key, record } = await keys.create({ org: 'demo', kind: 'api', label: 'npm run demo' });
  return {
    file,
    key,
    own,
    async stop() {
      await keys.revoke(record._id);
      await collections.mongoClient.close();
      await stop();
    },
  };
}
