import { describe } from '@jest/globals';
import { defaultCacheDir, obtainEmbeddingModel } from '../../dev-stack/index.js';

interface ModelFiles {
  modelPath: string;
  tokenizerPath: string;
}

/** Declares tests that need the built-in embedding model; they are skipped on a machine that cannot download it. */
export async function describeWithModel(name: string, tests: (files: ModelFiles) => void): Promise<void> {
  const { env } = process;
  const model = await obtainEmbeddingModel({ cacheDir: defaultCacheDir(env), env, log: () => undefined });
  if (!('unavailable' in model)) return describe(name, () => tests(model));
  console.warn(`Not tested: ${name}: ${model.unavailable}`);
  describe.skip(name, () => tests({ modelPath: '', tokenizerPath: '' }));
}
