import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MODEL_FILES, MODELS_FOLDER } from '../../providers/extraction/ocr/second/models.js';
import { field } from '../../providers/protobuf.js';

const message = (...fields: Buffer[]) => Buffer.concat(fields);
const FLOAT = 1;

/** Each line is read as these words, of which a model that may find Chinese takes the last for something else. */
export const WORDS = 'read by the second recogniser in a language';
const IN_CHINESE = '中';

/**
 * Writes models that find the dark lines of a page, and read the same words in each of them, in the place and the format of the
 * second recogniser's.
 * @param languagesDir the folder of OCR's languages
 */
export function writeTinyRecogniser(languagesDir: string): void {
  const folder = join(languagesDir, MODELS_FOLDER);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, MODEL_FILES.findsLines), lineFinder());
  writeFileSync(join(folder, MODEL_FILES.readsLines), lineReader());
}

/** A line of print is dark enough for the recogniser when what it has of black counts so many times. */
const DARKNESS = 6;

/** One convolution: how dark a pixel's surroundings are (field numbers of onnx.proto). */
function lineFinder(): Buffer {
  const [height, width] = [5, 61];
  const weights = new Float32Array(3 * height * width).fill(-DARKNESS / (2 * 3 * height * width));
  const pads = [2, 30, 2, 30].map((pad) => field(8, pad));
  const attribute = message(field(1, 'pads'), ...pads, field(20, 7));
  const convolution = message(
    ...['x', 'weights', 'bias'].map((name) => field(1, name)),
    field(2, 'y'),
    field(4, 'Conv'),
    field(5, attribute),
  );
  const constants = [
    tensor('weights', [1, 3, height, width], weights),
    tensor('bias', [1], Float32Array.of(DARKNESS / 2)),
  ];
  return model(convolution, constants, []);
}

/** The same probabilities for each line, with the alphabet that they are of. */
function lineReader(): Buffer {
  const alphabet = [...new Set([...WORDS.replaceAll(' ', ''), IN_CHINESE])];
  const numberOf = (character: string) => (character === ' ' ? alphabet.length : alphabet.indexOf(character)) + 1;
  const characters = alphabet.length + 2;
  // A blank after each character, which parts those that are the same.
  const probabilities = new Float32Array(2 * WORDS.length * characters);
  for (const [at, character] of [...WORDS].entries()) {
    probabilities[2 * at * characters + numberOf(character)] = 0.9;
    probabilities[(2 * at + 1) * characters] = 0.9;
  }
  probabilities[2 * (WORDS.length - 1) * characters + numberOf(IN_CHINESE)] = 0.95;
  const identity = message(field(1, 'table'), field(2, 'y'), field(4, 'Identity'));
  const table = tensor('table', [1, 2 * WORDS.length, characters], probabilities);
  return model(identity, [table], [field(14, message(field(1, 'character'), field(2, alphabet.join('\n'))))]);
}

function tensor(name: string, shape: readonly number[], values: Float32Array): Buffer {
  return message(...shape.map((size) => field(1, size)), field(2, FLOAT), field(8, name), field(9, bytesOf(values)));
}

const bytesOf = (values: Float32Array) => Buffer.from(values.buffer);

/** A model with one operator, from `x` to `y`. */
function model(operator: Buffer, constants: readonly Buffer[], metadata: readonly Buffer[]): Buffer {
  const value = (name: string, shape: readonly string[]) => {
    const sizes = shape.map((size) => field(1, field(2, size)));
    return message(field(1, name), field(2, field(1, message(field(1, FLOAT), field(2, message(...sizes))))));
  };
  const graph = message(
    field(1, operator),
    field(2, 'tiny'),
    ...constants.map((constant) => field(5, constant)),
    field(11, value('x', ['n', 'c', 'h', 'w'])),
    field(12, value('y', ['a', 'b', 'd', 'e'].slice(0, constants.length === 1 ? 3 : 4))),
  );
  return message(field(1, 8), field(8, message(field(1, ''), field(2, 13))), field(7, graph), ...metadata);
}
