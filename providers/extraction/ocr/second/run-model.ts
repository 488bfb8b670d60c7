import { type InferenceSession, Tensor } from 'onnxruntime-node';
import type { GreyPixels } from '../picture.js';

/** Runs a model on a grey picture. @param read takes what it needs of the output, which is freed afterwards */
export async function runModel<Result>(
  session: InferenceSession,
  { data, info: { width, height } }: GreyPixels,
  read: (output: Float32Array, dims: readonly number[]) => Result,
): Promise<Result> {
  // The models take levels from -1 to 1, once for each colour.
  const levels = Float32Array.from(data, (level) => level / 127.5 - 1);
  const colours = new Float32Array(levels.length * 3);
  for (const colour of [0, 1, 2]) colours.set(levels, colour * levels.length);
  const input = new Tensor('float32', colours, [1, 3, height, width]);
  const output = (await session.run({ [session.inputNames[0]!]: input }))[session.outputNames[0]!]!;
  const result = read(output.data as Float32Array, output.dims);
  output.dispose();
  return result;
}
