/** @returns the Euclidean length of the vector that the components `from` to `to` are; 0 for one without a direction */
export function vectorLength(components: Float32Array | Int16Array, from = 0, to = components.length): number {
  let squares = 0;
  for (let at = from; at < to; at += 1) squares += components[at]! ** 2;
  return Math.sqrt(squares);
}
