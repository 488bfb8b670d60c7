import { join } from 'node:path';
import { acquireProcessLock } from '../dev-stack/index.js';
import { KEY_KINDS, type KeyKind } from '../domain/api-keys.js';
import { readConfig } from '../runtime/config.js';
import { stopRequested } from '../runtime/process.js';
import { createApiKeys } from '../storage/api-keys.js';
import { connectCollections } from '../storage/collections.js';
import {
  type DevelopmentFile,
  readDevelopmentFile,
  removeDevelopmentFile,
  writeDevelopmentFile,
} from './data-folder.js';
import { type Instance, startInstance } from './instance.js';
import { requireDisk, requirePlatform } from './platform.js';
import { welcome } from './welcome.js';

/** The organisation and the label of the keys that `postback start` creates. */
const DEVELOPMENT_ORG = 'development';
const LABEL = 'npm start';

/**
 * `npm start`: runs Temporal, MongoDB, the API and the workers until Ctrl-C. They all end with this process, however it
 * ends.
 */
export async function start(): Promise<void> {
  const stopped = stopRequested();
  const config = readConfig(process.env);
  const dataDir = config.POSTBACK_DATA_DIR;
  requirePlatform();
  // Data, logs and the sealing key are readable by this user only.
  await requireDisk(dataDir, 'POSTBACK_DATA_DIR');
  const lock = lockFolder(dataDir);
  if (!lock) return;
  let instance: Instance | undefined;
  try {
    console.log('\nPostback is starting\n');
    instance = await startInstance(process.env, (line) => console.log(`  ${line}`), stopped);
    const development = await describeInstance(instance);
    writeDevelopmentFile(dataDir, development);
    console.log(welcome(development, instance.noModelReason, config));
    process.send?.({ ready: true });
    const lost = await Promise.race([stopped, instance.stack.failed]);
    if (lost !== undefined) {
      console.error(
        `\n${lost}\nPostback cannot run without it, and starting it again did not help. Your data is kept.`,
      );
      process.exitCode = 1;
    }
    console.log('\nPostback is stopping …');
  } finally {
    await instance?.stop();
    removeDevelopmentFile(dataDir);
    lock.release();
  }
  console.log('Stopped.');
}

/** Makes this process the only instance that uses a data folder. */
function lockFolder(dataDir: string) {
  const result = acquireProcessLock(join(dataDir, 'instance.json'));
  if ('lock' in result) return result.lock;
  const address = readDevelopmentFile(dataDir)?.api_url;
  const running = [`process ${result.holder.pid}`, ...(address ? [address] : [])].join(', ');
  console.error(`Postback is already running in this folder (${running}).`);
  console.error('Use it, or stop it with Ctrl-C in its terminal. A second instance needs its own POSTBACK_DATA_DIR.');
  process.exitCode = 1;
  return null;
}

async function describeInstance({ apiUrl, stack }: Instance): Promise<DevelopmentFile> {
  return {
    api_url: apiUrl,
    temporal_ui_url: stack.temporalUiUrl,
    temporal_address: stack.temporalAddress,
    mongodb_uri: stack.mongodbUri,
    keys: await createDevelopmentKeys(stack.mongodbUri),
  };
}

/** Creates a key of every kind and revokes those of the last start, so that a key in an old terminal has no access. */
async function createDevelopmentKeys(mongodbUri: string): Promise<Record<KeyKind, string>> {
  const collections = await connectCollections(mongodbUri, 'postback-start');
  try {
    const keys = createApiKeys(collections);
    await keys.revokeLabelled(DEVELOPMENT_ORG, LABEL);
    const created = await Promise.all(
      KEY_KINDS.map(async (kind) => [kind, (await keys.create({ org: DEVELOPMENT_ORG, kind, label: LABEL })).key]),
    );
    return Object.fromEntries(created) as Record<KeyKind, string>;
  } finally {
    await collections.mongoClient.close();
  }
}
