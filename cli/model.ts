import { cp, mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { defaultCacheDir, obtainEmbeddingModel } from '../dev-stack/index.js';

/** `postback model fetch`: for images and machines that shall have the model before the first start. */
export async function fetchModel(to?: string): Promise<void> {
  const model = await obtainEmbeddingModel({
    cacheDir: defaultCacheDir(process.env),
    env: process.env,
    log: console.error,
  });
  if ('unavailable' in model) throw new Error(model.unavailable);
  for (const path of [model.modelPath, model.tokenizerPath]) {
    if (to !== undefined) {
      await mkdir(to, { recursive: true });
      await cp(path, join(to, basename(path)));
    }
    console.log(to === undefined ? path : join(to, basename(path)));
  }
}
