import { existsSync } from 'node:fs';
import { cp, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel } from '../dev-stack/index.js';
import { MODEL_FILE } from '../providers/embeddings/local-model.js';
import { print } from './remote/output.js';

/**
 * `postback model fetch`: downloads the embedding model before the first start, for images and offline machines, and
 * prints the paths of its files.
 * With `to`, a folder receives a copy of them.
 */
export async function fetchModel(
  { to: folder, json }: { to?: string; json?: boolean },
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: console.error });
  if ('unavailable' in model) throw new Error(model.unavailable);
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const description = join(dirname(model.modelPath), MODEL_FILE);
  const files: string[] = [];
  for (const path of [model.modelPath, model.tokenizerPath, ...(existsSync(description) ? [description] : [])]) {
    const target = folder === undefined ? path : join(folder, basename(path));
    if (target !== path) await cp(path, target);
    files.push(target);
  }
  print({ json, data: { files } }, () => files.join('\n'));
}
