/** What JSON text may hold at most. Checked before the text is parsed, because parsing is what costs time and memory. */
export interface JsonBounds {
  /** Levels of arrays and objects within each other. */
  maxDepth: number;
  /** Members and elements of all objects and arrays together. */
  maxValues: number;
  /** Elements of an array at the top level. */
  maxElements?: number;
}

/** Text that breaks a bound. `message` continues the name of the field: "must not …". */
export class JsonBoundsError extends Error {
  override readonly name = 'JsonBoundsError';
}

/** The limits of a body, or of one element of a field: it is parsed at once, which takes up to 2 µs per value. */
export const DEFAULT_JSON_BOUNDS: JsonBounds = { maxDepth: 100, maxValues: 30_000 };

/**
 * Parses JSON text within bounds.
 * @throws JsonBoundsError before anything is parsed, SyntaxError for text that is not JSON
 */
export function parseBoundedJson(text: string, bounds: JsonBounds): unknown {
  checkBounds(text, bounds);
  return JSON.parse(text);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Characters that neither open nor close nor separate anything. */
const PLAIN = /[^"[\]{},]+/y;

/** One pass over the text that counts brackets and commas outside of strings. Text that is not JSON may pass. */
export function checkBounds(text: string, { maxDepth, maxValues, maxElements = maxValues }: JsonBounds): void {
  let depth = 0;
  let values = 0;
  let elements = 1;
  for (let at = 0; at < text.length; at += 1) {
    PLAIN.lastIndex = at;
    if (PLAIN.test(text)) at = PLAIN.lastIndex;
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at);
        break;
      case OPEN_BRACKET:
      case OPEN_BRACE:
        depth += 1;
        values += 1;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        depth -= 1;
        break;
      case COMMA:
        values += 1;
        if (depth === 1) elements += 1;
        break;
    }
    if (depth > maxDepth) throw new JsonBoundsError(`must not be nested deeper than ${maxDepth} levels`);
    if (elements > maxElements) throw new JsonBoundsError(`must not have more than ${maxElements} elements`);
    if (values > maxValues) throw new JsonBoundsError(`must not have more than ${maxValues} values`);
  }
}

/** @returns the place of the closing quote, or the end of the text */
function endOfString(text: string, open: number): number {
  for (let at = text.indexOf('"', open + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}
