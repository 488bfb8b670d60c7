/** Values as they are written in the samples of requests. */

/** @param {string} text */
export const quoteForShell = (text) => (/^[\w./@:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** In TypeScript. @param {unknown} value */
export const literal = (value) =>
  typeof value === 'string' && !/['\\\n]/.test(value) ? `'${value}'` : JSON.stringify(value);

/** The fields of an object in TypeScript. @param {Record<string, unknown>} fields */
export const literals = (fields) =>
  Object.entries(fields).map(
    ([name, value]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}: ${literal(value)}`,
  );
