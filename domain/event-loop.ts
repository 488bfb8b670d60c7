import { setImmediate } from 'node:timers/promises';

/** How long work runs before other requests get their turn. */
const SLICE_MS = 10;

/** @returns a function to await between the steps of long work: it lets other requests run when the slice is used up */
export function createPauses(): () => Promise<void> {
  let sliceEnds = 0;
  return async () => {
    if (performance.now() < sliceEnds) return;
    await setImmediate();
    sliceEnds = performance.now() + SLICE_MS;
  };
}

/** Goes through values with pauses, so that a long list, or long values, do not hold up the process. */
export async function* withPauses<T>(values: Iterable<T>): AsyncGenerator<T> {
  const pause = createPauses();
  for (const value of values) {
    await pause();
    yield value;
  }
}
