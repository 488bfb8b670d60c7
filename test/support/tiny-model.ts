import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODEL_FILE, MODEL_FILES } from '../../providers/embeddings/local-model.js';
import { field } from '../../providers/protobuf.js';

/** Words of several languages with one meaning, which have one direction of the vectors. */
const MEANINGS = [
  ['house', 'haus', 'maison', 'dom'],
  ['boat', 'boot', 'bateau', 'łódź'],
  ['invoice', 'rechnung', 'facture', 'faktura'],
];
const UNKNOWN = '<unk>';

/**
 * Writes a model in ONNX format with its tokenizer and description, as it would be got from a model hub: a table of vectors, one
 * for each word, whose mean is the vector of a text.
 * @param settings of `model.json`
 */
export function writeTinyModel(folder: string, settings: object): void {
  const words = MEANINGS.flat();
  const dimensions = MEANINGS.length + 1;
  const rows = [MEANINGS.length, ...words.map((word) => MEANINGS.findIndex((same) => same.includes(word)))];
  const table = new Float32Array(rows.length * dimensions);
  for (const [row, direction] of rows.entries()) table[row * dimensions + direction] = row === 0 ? 0.01 : 1;

  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, MODEL_FILES.model), onnxModel(table, rows.length, dimensions));
  writeFileSync(join(folder, MODEL_FILES.tokenizer), JSON.stringify(tokenizer(words)));
  writeFileSync(join(folder, MODEL_FILE), JSON.stringify(settings));
}

/** The kind of tokenizer that multilingual models have. */
function tokenizer(words: readonly string[]) {
  const metaspace = { type: 'Metaspace', replacement: '▁', add_prefix_space: true };
  return {
    normalizer: { type: 'Lowercase' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, metaspace] },
    decoder: metaspace,
    post_processor: null,
    added_tokens: [],
    model: { type: 'Unigram', unk_id: 0, vocab: [[UNKNOWN, 0], ...words.map((word) => [`▁${word}`, -1])] },
  };
}

/** A model with one operator: `Gather` of a table's rows (field numbers of onnx.proto). */
function onnxModel(table: Float32Array, rows: number, dimensions: number): Buffer {
  const message = (...fields: Buffer[]) => Buffer.concat(fields);
  const value = (name: string, elementType: number, shape: readonly (string | number)[]) => {
    const sizes = shape.map((size) => field(1, typeof size === 'number' ? field(1, size) : field(2, size)));
    const tensor = message(field(1, elementType), field(2, message(...sizes)));
    return message(field(1, name), field(2, field(1, tensor)));
  };
  const [floats, integers] = [1, 7];
  const bytes = Buffer.from(table.buffer);
  const weights = message(field(1, rows), field(1, dimensions), field(2, floats), field(8, 'table'), field(9, bytes));
  const gather = message(field(1, 'table'), field(1, 'input_ids'), field(2, 'last_hidden_state'), field(4, 'Gather'));
  const graph = message(
    field(1, gather),
    field(2, 'tiny'),
    field(5, weights),
    field(11, value('input_ids', integers, ['batch', 'tokens'])),
    field(12, value('last_hidden_state', floats, ['batch', 'tokens', dimensions])),
  );
  return message(field(1, 8), field(8, message(field(1, ''), field(2, 13))), field(7, graph));
}
