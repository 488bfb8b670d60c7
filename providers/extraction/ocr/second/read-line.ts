import { type InferenceSession, Tensor } from 'onnxruntime-node';
import sharp from 'sharp';
import type { Box } from '../repair-page.js';
import type { Alphabet } from './alphabet.js';
import { type GreyPage, inThreeColours } from './grey-page.js';

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
  page: GreyPage,
  { x0, y0, x1, y1 }: Box,
): Promise<ReadLine> {
  const [width, height] = [x1 - x0, y1 - y0];
  const letters = Math.ceil((width * HEIGHT) / height);
  const line = await sharp(page.data, { raw: { width: page.width, height: page.height, channels: 1 } })
    .extract({ left: x0, top: y0, width, height })
    .resize({ width: letters, height: HEIGHT, fit: 'fill', kernel: 'linear' })
    // Half of black and white is 0 for the model: nothing.
    .extend({ right: Math.max(0, MIN_WIDTH - letters), background: '#808080' })
    .toColourspace('b-w')
    .raw()
    .toBuffer();
  const input = new Tensor('float32', inThreeColours(line), [1, 3, HEIGHT, line.length / HEIGHT]);
  const output = (await session.run({ [session.inputNames[0]!]: input }))[session.outputNames[0]!]!;
  const [, steps, characters] = output.dims as [number, number, number];
  const read = decode(output.data as Float32Array, steps, characters, alphabet);
  output.dispose();
  return read;
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
