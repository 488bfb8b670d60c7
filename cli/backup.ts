/** The commands `postback backup` and `postback restore`. */
import { link, open, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { sealingKeyIds } from '../domain/sealing.js';
import type { Config } from '../runtime/config.js';
import { filesLocation } from '../runtime/provider-config.js';
import { checkBackup } from '../storage/backup/archive.js';
import { openBucket } from '../storage/backup/bucket.js';
import { dump } from '../storage/backup/dump.js';
import { findContent, restore } from '../storage/backup/restore.js';
import type { Collections } from '../storage/collections.js';
import { createFiles } from '../storage/files/index.js';
import { withCollections } from './connections.js';
import { existingSealingKey, runningSettings } from './data-folder.js';
import { rebuildIndexes } from './rebuild-index.js';
import { print } from './remote/output.js';

interface Output {
  /** Print JSON. */
  json?: boolean;
}

/**
 * `postback backup`: writes MongoDB's database, and the files of the bucket, as they are at one point in time. The service
 * may run.
 * @param path a new file; it appears when the backup is complete
 */
export async function backUp(path: string, { json }: Output): Promise<void> {
  if (await stat(path).catch(() => null)) throw new Error(`${path} exists; name a new file`);
  let last = '';
  await withStorage(async ({ collections, bucket, config }) => {
    const lines = dump(collections, {
      readPreference: config.POSTBACK_MONGODB_STALE_READ_PREFERENCE,
      bucket,
      onProgress: (step) => console.error('collection' in step ? step.collection : `${step.changed} changes`),
    });
    async function* noted() {
      for await (const line of lines) {
        last = line;
        yield line;
      }
    }
    await writeNew(path, noted());
  });
  const { end } = JSON.parse(last) as { end: { point: string; sealing_keys: string[]; lines: number } };
  const { size } = await stat(path);
  print({ json }, { path, bytes: size, ...end }, () =>
    [
      `${path}: ${size} bytes, the state of ${end.point}.`,
      end.sealing_keys.length === 0
        ? 'It has no sealed secrets.'
        : `Its secrets are sealed with ${keysText(end.sealing_keys)}. Keep POSTBACK_SEALING_KEY, away from this file.`,
    ].join('\n'),
  );
}

/** Writes lines into a new file, packed. A file that exists stays, and one that could not be completed is removed. */
async function writeNew(path: string, lines: AsyncIterable<string>): Promise<void> {
  const unfinished = `${path}.part`;
  // Secrets are sealed in it, but clients' data are not.
  const file = await open(unfinished, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new Error(`${unfinished} exists: another backup is writing it, or was killed. Then remove it.`);
  });
  try {
    await pipeline(Readable.from(lines), createGzip(), file.createWriteStream());
    // Fails when another process has made the file meanwhile; a rename would replace it.
    await link(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
}

/**
 * `postback restore`: writes a backup into an empty database and an empty bucket, and writes the search index from it.
 * @throws Error when the place is not empty, the backup is incomplete, or its secrets cannot be opened
 */
export async function restoreBackup(path: string, { json }: Output): Promise<void> {
  const config = runningSettings(process.env);
  const { end } = await checkBackup(path);
  const configured = sealingKeyIds(existingSealingKey(config) ?? '');
  const missing = end.sealing_keys.filter((id) => !configured.includes(id));
  if (missing.length > 0) {
    const held = configured.length === 0 ? 'is not set' : `holds ${keysText(configured)}`;
    throw new Error(
      `the secrets of this backup are sealed with ${keysText(missing)}, and POSTBACK_SEALING_KEY ${held}`,
    );
  }
  const restored = await withStorage(async ({ collections, bucket, location }) => {
    const content = await findContent(collections);
    if (content) throw new Error(`the database is not empty: the collection ${content} has documents`);
    if (bucket && !(await bucket.isEmpty())) throw new Error(`the bucket at ${config.POSTBACK_FILES_URI} is not empty`);
    return restore(path, collections, await createFiles(collections, location));
  });
  const databases = await rebuildIndexes();
  const documents = Object.values(restored.documents).reduce((sum, count) => sum + count, 0);
  print({ json }, { point: end.point, ...restored, databases }, () =>
    [
      `The state of ${end.point}: ${documents} records, ${restored.files} files of a bucket, the indexes of ${databases.length} databases.`,
      'Start the service with a Temporal namespace that is empty: it starts the unfinished work again.',
    ].join('\n'),
  );
}

interface Storage {
  collections: Collections;
  /** Null: files are in MongoDB. */
  bucket: Awaited<ReturnType<typeof openBucket>> | null;
  /** Of the bucket. */
  location: ReturnType<typeof filesLocation>;
  config: Config;
}

/** Runs work with the database and the bucket of the settings. */
function withStorage<Result>(work: (storage: Storage) => Promise<Result>): Promise<Result> {
  return withCollections(async (collections, config) => {
    const location = filesLocation(config);
    const bucket = location ? await openBucket(location) : null;
    return work({ collections, bucket, location, config }).finally(() => bucket?.close());
  });
}

function keysText(ids: readonly string[]): string {
  return `${ids.length === 1 ? 'the key' : 'the keys'} ${ids.join(', ')}`;
}
