/** @returns the Euclidean length of a vector; 0 for one without a direction */
export function vectorLength(components: Float32Array | Int16Array): number {
  let squares = 0;
  for (let at = 0; at < components.length; at += 1) squares += components[at]! ** 2;
  return Math.sqrt(squares);
}
