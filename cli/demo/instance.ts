import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPostback, type Postback } from '../../client/index.js';
import type { KeyKind } from '../../domain/api-keys.js';
import type { Config } from '../../runtime/config.js';
import { createApiKeys } from '../../storage/api-keys.js';
import { connectCollections } from '../../storage/collections.js';
import { type DevelopmentFile, readDevelopmentFile } from '../data-folder.js';
import { startInstance } from '../instance.js';
import { requirePlatform } from '../platform.js';

/**
 * The keys belong to an organisation of the demo, so that the demo does not replace the user's webhook registration.
 */
export interface DemoInstance {
  /** A client with a key for items and jobs, and one with a key for crews. */
  content: Postback;
  crews: Postback;
  temporalUiUrl: string | null;
  /** The demo started the instance and stops it at the end. */
  isTemporary: boolean;
  /** Revokes the keys, and stops the instance if the demo started it. */
  stop(): Promise<void>;
}

/**
 * Uses the instance that runs in this folder, if it may send webhooks to this machine; otherwise starts a temporary
 * one.
 */
export async function openDemoInstance(config: Config): Promise<DemoInstance> {
  const running = await findRunning(config.POSTBACK_DATA_DIR);
  if (!running) return startTemporary();
  if (!(await allowsLoopback(running))) {
    console.log(
      [
        `The instance at ${running.api_url} sends webhooks to public addresses only, but the demo's receiver is on this machine.`,
        'To run the demo on that instance, start it with  OUTBOUND_ALLOW_CIDRS=127.0.0.0/8 npm start',
      ].join('\n'),
    );
    return startTemporary();
  }
  console.log(`Using the instance at ${running.api_url}`);
  return withKeys(running, false, async () => undefined);
}

async function findRunning(dataDir: string): Promise<DevelopmentFile | null> {
  const file = readDevelopmentFile(dataDir);
  if (!file) return null;
  const isAlive = await fetch(`${file.api_url}/healthz`).then(
    (response) => response.ok,
    () => false,
  );
  return isAlive ? file : null;
}

/** `/readyz` shows whether the instance may send webhooks to this machine. */
async function allowsLoopback(file: DevelopmentFile): Promise<boolean> {
  const { outbound } = (await (await fetch(`${file.api_url}/readyz`)).json()) as { outbound?: { loopback: boolean } };
  return outbound?.loopback ?? false;
}

async function startTemporary(): Promise<DemoInstance> {
  console.log('Starting a temporary instance for the demo …');
  requirePlatform();
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-demo-'));
  const env = { ...process.env, POSTBACK_DATA_DIR: dataDir, OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' };
  const { apiUrl, stack, stop } = await startInstance(env, () => undefined);
  const addresses = { api_url: apiUrl, temporal_ui_url: stack.temporalUiUrl, mongodb_uri: stack.mongodbUri };
  return withKeys(addresses, true, async () => {
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
}

async function withKeys(
  file: Pick<DevelopmentFile, 'api_url' | 'temporal_ui_url' | 'mongodb_uri'>,
  isTemporary: boolean,
  stop: () => Promise<void>,
): Promise<DemoInstance> {
  const collections = await connectCollections(file.mongodb_uri, 'postback-demo');
  const keys = createApiKeys(collections);
  const create = (kind: KeyKind) => keys.create({ org: 'demo', kind, label: 'npm run demo' });
  const [content, crews] = await Promise.all([create('api'), create('crew_org')]);
  return {
    content: createPostback({ url: file.api_url, key: content.key }),
    crews: createPostback({ url: file.api_url, key: crews.key }),
    temporalUiUrl: file.temporal_ui_url,
    isTemporary,
    async stop() {
      for (const { record } of [content, crews]) await keys.revoke(record._id);
      await collections.mongoClient.close();
      await stop();
    },
  };
}
