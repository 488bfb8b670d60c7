/** The limits of JSON text. They are checked before the text is parsed, because parsing costs time and memory. */
export interface JsonBounds {
  /** Levels of arrays and objects within each other. */
  maxDepth: number;
  /** Members and elements of all objects and arrays together. */
  maxValues: number;
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
  countValues(text, bounds);
  return JSON.parse(text);
}

/** The characters of JSON's structure. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** The levels and values of a JSON text, counted character by character. */
export class StructureCount {
  /** Arrays and objects that are open. */
  depth = 0;
  /** Members and elements so far. */
  values = 0;
  readonly #bounds: JsonBounds;

  constructor(bounds: JsonBounds) {
    this.#bounds = bounds;
  }

  /** @param character outside of strings @throws JsonBoundsError */
  add(character: number): void {
    switch (character) {
      case OPEN_BRACKET:
      case OPEN_BRACE:
        this.depth += 1;
        this.values += 1;
        break;
      case CLOSE_BRACKET:
      case CLOSE_BRACE:
        this.depth -= 1;
        break;
      case COMMA:
        this.values += 1;
        break;
    }
    const { maxDepth, maxValues } = this.#bounds;
    if (this.depth > maxDepth) throw new JsonBoundsError(`must not be nested deeper than ${maxDepth} levels`);
    if (this.values > maxValues) throw tooMany(maxValues, 'values');
  }
}

export function tooMany(max: number, what: 'elements' | 'values'): JsonBoundsError {
  return new JsonBoundsError(`must not have more than ${max} ${what}`);
}

/** Characters that neither open nor close nor separate anything. */
const PLAIN = /[^"[\]{},]+/y;

/**
 * One pass over the text that counts brackets and commas outside of strings. Text that is not JSON may pass.
 * @returns the members and elements, and one for each object and array without any
 * @throws JsonBoundsError
 */
export function countValues(text: string, bounds: JsonBounds): number {
  const count = new StructureCount(bounds);
  for (let at = 0; at < text.length; at += 1) {
    PLAIN.lastIndex = at;
    if (PLAIN.test(text)) at = PLAIN.lastIndex;
    const character = text.charCodeAt(at);
    if (character === QUOTE) at = endOfString(text, at);
    else count.add(character);
  }
  return count.values;
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
