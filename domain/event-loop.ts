import { setImmediate } from 'node:timers/promises';

/** Values between two pauses: each pause lets other requests run. */
const SLICE = 100;

/** Goes through values with pauses, so that a long list does not hold up the process. */
export async function* withPauses<T>(values: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const value of values) {
    if (count % SLICE === 0) await setImmediate();
    count += 1;
    yield value;
  }
}
