import { z } from 'zod';

/**
 * A number as people write it, or as programs write a small one: `1e-7`, `5e-324`. `Number()` also takes `''`, `0x1f`, `1e2` and spaces,
 * which a client did not mean.
 */
const DECIMAL = /^-?\d+(\.\d+)?(e-\d+)?$/i;

/** A number in a query, where every value arrives as text. @param schema of the number */
export function numberParameter<Schema extends z.ZodNumber>(schema: Schema) {
  return z.preprocess((value) => (typeof value === 'string' && DECIMAL.test(value) ? Number(value) : value), schema);
}
