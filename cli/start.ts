import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { AlreadyRunningError, lockDataFolder } from '../dev-stack/index.js';
import { KEY_KINDS, type KeyKind } from '../domain/api-keys.js';
import { readConfig } from '../runtime/config.js';
import { stopRequested } from '../runtime/process.js';
import { createApiKeys } from '../storage/api-keys.js';
import { connectCollections } from '../storage/collections.js';
import { type Instance, startInstance } from './instance.js';
import { type DevelopmentFile, developmentFile } from './running-instance.js';
import { welcome } from './welcome.js';

/** The organisation and the label of the keys that `postback start` makes. */
const DEVELOPMENT_ORG = 'development';
const LABEL = 'npm start';

/**
 * `npm start`: the two servers, the API and the workers, supervised by this process until Ctrl-C. Everything started
 * here ends with it, whichever way it ends.
 */
export async function start(): Promise<void> {
  const stopped = stopRequested();
  const config = readConfig(process.env);
  // Data, logs and the sealing key are this user's alone.
  mkdirSync(config.POSTBACK_DATA_DIR, { recursive: true, mode: 0o700 });
  const lock = lockOrExplain(config.POSTBACK_DATA_DIR);
  if (!lock) return;
  const file = developmentFile(config.POSTBACK_DATA_DIR);
  let instance: Instance | undefined;
  try {
    console.log('\nPostback is starting\n');
    instance = await startInstance(process.env, (line) => console.log(`  ${line}`), stopped);
    const development: DevelopmentFile = {
      api_url: instance.apiUrl,
      temporal_ui_url: instance.stack.temporalUiUrl,
      temporal_address: instance.stack.temporalAddress,
      mongodb_uri: instance.stack.mongodbUri,
      keys: await developmentKeys(instance.stack.mongodbUri),
    };
    // Removed first: the mode is only set on files that are new.
    rmSync(file, { force: true });
    writeFileSync(file, JSON.stringify(development, null, 2), { mode: 0o600 });
    lock.publish({ api_url: development.api_url });
    console.log(welcome(development, instance.noModel, config));
    process.send?.({ ready: true });
    const lost = await Promise.race([stopped, instance.stack.ended]);
    if (lost !== undefined) {
      console.error(`\n${lost}\nPostback cannot go on without it. The data stay: start it again.`);
      process.exitCode = 1;
    }
    console.log('\nPostback is stopping …');
  } finally {
    await instance?.stop();
    rmSync(file, { force: true });
    lock.release();
  }
  console.log('Stopped.');
}

function lockOrExplain(dataDir: string) {
  try {
    return lockDataFolder(dataDir);
  } catch (error) {
    if (!(error instanceof AlreadyRunningError)) throw error;
    console.error(error.message);
    console.error(
      'Stop it with Ctrl-C in its terminal, or use it as it is. For a second one, clone into another folder.',
    );
    process.exitCode = 1;
    return null;
  }
}

/** Fresh keys of every kind; those of the last start are revoked, so that a forgotten terminal opens nothing. */
async function developmentKeys(mongodbUri: string): Promise<Record<KeyKind, string>> {
  const collections = await connectCollections(mongodbUri, 'postback-start');
  try {
    const keys = createApiKeys(collections);
    await keys.revokeLabelled(DEVELOPMENT_ORG, LABEL);
    const made = await Promise.all(
      KEY_KINDS.map(async (kind) => [kind, (await keys.create({ org: DEVELOPMENT_ORG, kind, label: LABEL })).key]),
    );
    return Object.fromEntries(made) as Record<KeyKind, string>;
  } finally {
    await collections.mongoClient.close();
  }
}
