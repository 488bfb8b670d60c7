import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel } from '../dev-stack/index.js';

/**
 * `postback model fetch`: downloads the embedding model before the first start, for images and offline machines, and
 * prints the paths of its files.
 * @param folder receives a copy of the files
 */
export async function fetchModel(folder?: string): Promise<void> {
  const { env } = process;
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: console.error });
  if ('unavailable' in model) throw new Error(model.unavailable);
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  for (const path of [model.modelPath, model.tokenizerPath]) {
    const target = folder === undefined ? path : join(folder, basename(path));
    if (target !== path) await cp(path, target);
    console.log(target);
  }
}
