import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

/** What the models expect before queries and before documents. */
const prefix = z.string().max(500).default('');
const modelSchema = z.strictObject({
  /** The name that databases keep: vectors of two names are never compared. */
  name: z.string().min(1).max(200),
  dimensions: z.int().min(2).max(4_096),
  /** Which states of the tokens are the vector: that of the first token, or the mean of all. */
  pooling: z.enum(['first', 'mean']).default('mean'),
  query_prefix: prefix,
  document_prefix: prefix,
  /** The model reads no more tokens of a text. */
  max_tokens: z.int().min(16).max(8_192).default(512),
});

/** What the embedder must know about a model in ONNX format. */
export interface LocalModel extends z.infer<typeof modelSchema> {
  /** Heads of the attention, when the model may be fused; see `fuseModel`. */
  heads?: number;
}

/** The model that `npm start` downloads. The prefix is that of its model card. */
export const BUILT_IN_MODEL: LocalModel = {
  name: 'bge-small-en-v1.5',
  dimensions: 384,
  pooling: 'first',
  query_prefix: 'Represent this sentence for searching relevant passages: ',
  document_prefix: '',
  max_tokens: 512,
  heads: 12,
};

/** Describes another model than the built-in one. */
export const MODEL_FILE = 'model.json';
export const MODEL_FILES = { model: 'model_quantized.onnx', tokenizer: 'tokenizer.json' } as const;

/**
 * @param folder with the files of a model
 * @returns the description in its `model.json`, or the built-in model without that file. @throws Error when it is invalid
 */
export function readLocalModel(folder: string): LocalModel {
  const path = join(folder, MODEL_FILE);
  if (!existsSync(path)) return BUILT_IN_MODEL;
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new Error(`${path}: ${(error as Error).message}`);
  }
  const result = modelSchema.safeParse(content);
  if (result.success) return result.data;
  throw new Error(`${path}: ${z.prettifyError(result.error)}`);
}
