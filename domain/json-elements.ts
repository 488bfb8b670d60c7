import {
  BACKSLASH,
  CLOSE_BRACKET,
  COMMA,
  type JsonBounds,
  JsonBoundsError,
  OPEN_BRACKET,
  QUOTE,
  StructureCount,
  tooMany,
} from './bounded-json.js';
import { createPauses } from './event-loop.js';

/** What the text of a JSON array may hold at most. */
export interface ArrayBounds extends JsonBounds {
  maxElements: number;
  /** Limits of one element, which is parsed at once. */
  element: {
    maxValues: number;
    /** Characters of its JSON text. An escape such as `\n` or `\u00e9` is one character. */
    maxCharacters: number;
  };
}

/** The place of an element in the text: its first byte, and the byte after its last one. */
export type ElementRange = readonly [from: number, to: number];

const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const LETTER_U = 0x75;
const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** Bytes between two pauses, read within milliseconds. */
const SLICE = 256 * 1024;

/**
 * Finds the elements of a JSON array, with pauses for other requests, so that each can be parsed by itself.
 * @param json UTF-8. Elements that are not JSON may pass: `parseElements` rejects them
 * @throws JsonBoundsError for a text that breaks a bound, SyntaxError for one that is not an array
 */
export async function findElements(json: Buffer, bounds: ArrayBounds): Promise<ElementRange[]> {
  const pause = createPauses();
  for (const slices = scan(json, bounds); ; await pause()) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

/** Parses the elements one by one, each when it is asked for. @throws SyntaxError */
export function* parseElements(json: Buffer, elements: readonly ElementRange[]): Generator<unknown> {
  for (const [from, to] of elements) yield JSON.parse(json.toString('utf8', from, to));
}

/** One pass over the text that counts brackets, commas and characters; yields after each slice. */
function* scan(json: Buffer, bounds: ArrayBounds): Generator<void, ElementRange[]> {
  const elements: ElementRange[] = [];
  let state: 'before' | 'inside' | 'after' = 'before';
  const count = new StructureCount(bounds);
  let inString = false;
  // The element that is being read, without the white space around it.
  let [from, to] = [-1, -1];
  let characters = 0;
  let valuesBefore = 0;

  const start = json.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  let sliceEnds = SLICE;
  for (let at = start; at < json.length; at += 1) {
    if (at >= sliceEnds) {
      if (from !== -1) checkLength(characters, bounds);
      sliceEnds = at + SLICE;
      yield;
    }
    const byte = json[at]!;
    // Later bytes of a character are 10xxxxxx.
    if ((byte & 0xc0) !== 0x80) characters += 1;
    if (inString) {
      if (byte === BACKSLASH) at += json[at + 1] === LETTER_U ? 5 : 1;
      else if (byte === QUOTE) {
        inString = false;
        to = at + 1;
      }
      continue;
    }
    if (byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB) continue;
    if (state !== 'inside') {
      if (state === 'after' || byte !== OPEN_BRACKET) throw new SyntaxError('not a JSON array');
      state = 'inside';
      count.depth = 1;
      continue;
    }
    if (count.depth === 1 && (byte === COMMA || byte === CLOSE_BRACKET)) {
      if (from !== -1) {
        // Without this byte.
        checkLength(characters - 1, bounds);
        elements.push([from, to]);
        if (elements.length > bounds.maxElements) throw tooMany(bounds.maxElements, 'elements');
        from = -1;
      } else if (byte === COMMA || elements.length > 0) throw new SyntaxError('an element is missing');
      if (byte === CLOSE_BRACKET) state = 'after';
      continue;
    }
    if (from === -1) {
      from = at;
      characters = 1;
      valuesBefore = count.values;
    }
    to = at + 1;
    if (byte === QUOTE) {
      inString = true;
      continue;
    }
    count.add(byte);
    if (count.depth === 0) throw new SyntaxError('a bracket does not match');
    if (count.values - valuesBefore > bounds.element.maxValues) {
      throw new JsonBoundsError(`must not have an element of more than ${bounds.element.maxValues} values`);
    }
  }
  if (state !== 'after') throw new SyntaxError('not complete');
  return elements;
}

function checkLength(characters: number, { element: { maxCharacters } }: ArrayBounds): void {
  if (characters <= maxCharacters) return;
  throw new JsonBoundsError(`must not have an element of more than ${maxCharacters} characters`);
}
