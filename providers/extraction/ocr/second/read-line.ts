import type { InferenceSession } from 'onnxruntime-node';
import sharp from 'sharp';
import { type Box, type GreyPixels, greyPixels } from '../picture.js';
import type { Alphabet } from './alphabet.js';
import { runModel } from './run-model.js';

/** In pixels: lines are read in this height, and shorter ones with nothing after them. */
const [HEIGHT, MIN_WIDTH] = [48, 320];

/** What a line says, and how sure that is, from 0 to 1. */
export interface ReadLine {
  text: string;
  confidence: number;
}

/** Reads one line of a page. @param box around the line */
export async function readLine(
  session: InferenceSession,
  alphabet: Alphabet,
  page: GreyPixels,
  { x0, y0, x1, y1 }: Box,
): Promise<ReadLine> {
  const [width, height] = [x1 - x0, y1 - y0];
  const letters = Math.ceil((width * HEIGHT) / height);
  const line = sharp(page.data, { raw: page.info })
    .extract({ left: x0, top: y0, width, height })
    .resize({ width: letters, height: HEIGHT, fit: 'fill', kernel: 'linear' })
    // Half of black and white is 0 for the model: nothing.
    .extend({ right: Math.max(0, MIN_WIDTH - letters), background: '#808080' });
  return runModel(session, await greyPixels(line), (probabilities, [, steps, characters]) =>
    decode(probabilities, steps!, characters!, alphabet),
  );
}

/** Takes the most probable character of each step; a repeated one counts once. */
function decode(probabilities: Float32Array, steps: number, characters: number, alphabet: Alphabet): ReadLine {
  let text = '';
  let [sum, count, previous] = [0, 0, -1];
  for (let step = 0; step < steps; step++) {
    const from = step * characters;
    let best = 0;
    for (const number of alphabet.keys())
      if (probabilities[from + number]! > probabilities[from + best]!) best = number;
    const character = alphabet.get(best)!;
    if (best !== previous && character !== '') {
      text += character;
      sum += probabilities[from + best]!;
      count += 1;
    }
    previous = best;
  }
  return { text: text.trim(), confidence: count === 0 ? 0 : sum / count };
}
