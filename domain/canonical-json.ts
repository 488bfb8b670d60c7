import { isLosslessNumber, LosslessNumber } from 'lossless-json';
import { countValues } from './bounded-json.js';
import { createPauses } from './event-loop.js';

/** A JSON value. A `LosslessNumber` keeps a number as it was written. */
export type Json = null | boolean | string | number | LosslessNumber | Json[] | { [name: string]: Json };

/** The value has no form that every receiver reads in the same way. `message` is the reason, and may be shown to the client. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

/** Python reads about a thousand levels. */
const MAX_DEPTH = 100;
/** Python's own limit. */
const MAX_INTEGER_DIGITS = 4_300;

const UNBOUNDED = { maxDepth: Number.POSITIVE_INFINITY, maxValues: Number.POSITIVE_INFINITY };

/**
 * Parses JSON and keeps numbers as they are written: 1.0 stays 1.0, and large integers keep all digits. The parser of
 * `lossless-json` takes a hundred times as long, and some 30 bytes for each character of a string.
 * @throws JsonError for text that is not JSON, and for an object with a duplicate name
 */
export function parseExact(text: string): Json {
  let [visited, empty] = [0, 0];
  const keepNumber = (_name: string, value: unknown, context?: { source?: string }): unknown => {
    visited += 1;
    if (typeof value === 'number') return new LosslessNumber(context!.source!);
    if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) empty += 1;
    return value;
  };
  const value = readJson(() => JSON.parse(text, keepNumber) as Json);
  // Of members with the same name, only the last one was visited. The root is no member.
  if (visited - 1 + empty !== countValues(text, UNBOUNDED)) throw new JsonError('An object has the same name twice.');
  return value;
}

function readJson(read: () => Json): Json {
  try {
    return read();
  } catch (error) {
    throw new JsonError(error instanceof RangeError ? 'It is nested too deeply.' : (error as Error).message);
  }
}

/**
 * Writes a value exactly as Python's `json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False)` does, so that a
 * receiver can rebuild the signed text from the parsed body.
 * @param maxLength of the result in characters; indentation can make it many times longer than compact JSON
 * @throws JsonError when Python or UTF-8 cannot represent the value, or the result is too long
 */
export function canonicalJson(value: Json, maxLength = Number.POSITIVE_INFINITY): string {
  return [...piecesWithin(maxLength, piecesOf(value, false))].join('');
}

/** Pieces between two checks of the clock. */
const PIECES_A_LOOK = 500;

/**
 * Writes any value as canonical JSON: values without a JSON form are dropped or become null, halves of surrogate pairs become
 * U+FFFD, and levels that are too deep become null. For what third parties send, which must not fail a job.
 */
export function canonicalJsonOfAny(value: unknown): string {
  return [...piecesOf(value as Json, true)].join('');
}

/**
 * The same in slices: results of third parties have hundreds of thousands of values, and other work continues between the slices.
 * @throws JsonError when the result is too long
 */
export async function tidyCanonicalJson(value: unknown, maxLength: number): Promise<string> {
  const pause = createPauses();
  const written: string[] = [];
  for (const piece of piecesWithin(maxLength, piecesOf(value as Json, true))) {
    if (written.push(piece) % PIECES_A_LOOK === 0) await pause();
  }
  return written.join('');
}

/** Counts while writing, so that a value that is too long is rejected before all of it has been written. */
function* piecesWithin(maxLength: number, pieces: Iterable<string>): Generator<string> {
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    if (length > maxLength) throw new JsonError(`It must not exceed ${maxLength} characters when it is indented.`);
    yield piece;
  }
}

/** @param members canonical JSON by name. @returns the object as canonical JSON: the members are indented, not written again */
export function canonicalObject(members: { [name: string]: string }): string {
  const lines = Object.keys(members)
    .sort(byCodePoint)
    // JSON strings contain no line breaks, so each line break starts a line of JSON.
    .map((name) => `  ${writeString(name)}: ${members[name]!.replaceAll('\n', '\n  ')}`);
  return `{\n${lines.join(',\n')}\n}`;
}

type Member = readonly [prefix: string, item: Json];

/** @param tidies whether values are changed so that they can be written, see `canonicalJsonOfAny` */
function* piecesOf(root: Json, tidies: boolean): Generator<string> {
  const open: { members: readonly Member[]; next: number; close: string }[] = [];
  const begin = (original: Json): string => {
    const value = tidies ? tidyLevel(original, open.length) : original;
    if (open.length > MAX_DEPTH) throw new JsonError(`It is nested deeper than ${MAX_DEPTH} levels.`);
    if (!isContainer(value)) return writeScalar(value);
    const [start, close] = Array.isArray(value) ? (['[', ']'] as const) : (['{', '}'] as const);
    const members = membersOf(value);
    if (members.length === 0) return `${start}${close}`;
    open.push({ members, next: 0, close });
    return start;
  };
  yield begin(root);
  for (let container = open.at(-1); container; container = open.at(-1)) {
    const member = container.members[container.next];
    if (member) {
      const comma = container.next++ === 0 ? '' : ',';
      yield `${comma}\n${'  '.repeat(open.length)}${member[0]}`;
      yield begin(member[1]);
    } else {
      open.pop();
      yield `\n${'  '.repeat(open.length)}${container.close}`;
    }
  }
}

function membersOf(value: Json[] | { [name: string]: Json }): readonly Member[] {
  if (Array.isArray(value)) return value.map((item) => ['', item]);
  return sorted(Object.keys(value)).map((name) => [`${writeString(name)}: `, value[name]!]);
}

/** Python sorts by code points; JavaScript's own order, by UTF-16 units, is faster and differs with surrogates only. */
function sorted(names: string[]): string[] {
  return names.some((name) => /[\ud800-\udfff]/.test(name)) ? names.sort(byCodePoint) : names.sort();
}

function isContainer(value: Json): value is Json[] | { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !isLosslessNumber(value);
}

function writeScalar(value: Exclude<Json, Json[] | { [name: string]: Json }>): string {
  if (typeof value === 'string') return writeString(value);
  if (isLosslessNumber(value)) return writeNumber(value.value);
  return typeof value === 'number' ? writeNumber(String(value)) : String(value);
}

/** Python and JavaScript escape the same characters in the same way. Only half of a surrogate pair cannot be sent. */
function writeString(text: string): string {
  if (!text.isWellFormed()) throw new JsonError('A text contains half of a surrogate pair.');
  return JSON.stringify(text);
}

/** Compares in place: a buffer for each comparison costs five times as much, and clients choose how many names there are. */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Surrogates come after all other units, because they encode the highest code points. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x1_0000 : unit;
}

/** @param text a JSON number. Python reads a float when it has a fraction or an exponent, else an integer */
function writeNumber(text: string): string {
  if (/^-?\d+$/.test(text)) {
    if (text.replace('-', '').length > MAX_INTEGER_DIGITS) throw new JsonError('A number has too many digits.');
    return text === '-0' ? '0' : text;
  }
  const float = Number(text);
  if (!Number.isFinite(float)) throw new JsonError('A number is out of range.');
  return pythonFloat(float);
}

/** @returns Python's `repr` of a float: the same shortest digits as in JavaScript, in another notation */
function pythonFloat(float: number): string {
  const sign = float < 0 || Object.is(float, -0) ? '-' : '';
  const [mantissa, exponentText] = Math.abs(float).toExponential().split('e') as [string, string];
  const digits = mantissa.replace('.', '');
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}

/** Tidies a value, but not the values in it. */
function tidyLevel(original: unknown, depth: number): Json {
  const value = jsonFormOf(original);
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'boolean') return value;
  // Leaves room for the levels of the payload around the value.
  if (typeof value !== 'object' || value === null || depth >= MAX_DEPTH - 10) return null;
  if (Array.isArray(value) || isLosslessNumber(value)) return value;
  const entries = Object.entries(value).filter(([, item]) => hasJsonForm(jsonFormOf(item)));
  return Object.fromEntries(entries.map(([name, item]) => [name.toWellFormed(), item]));
}

/** What JSON shows of a value: a date, for example, has a method that returns its text. */
function jsonFormOf(value: unknown): unknown {
  if (isLosslessNumber(value)) return value;
  const { toJSON } = (value ?? {}) as { toJSON?: unknown };
  return typeof toJSON === 'function' ? toJSON.call(value) : value;
}

const hasJsonForm = (value: unknown) => !['undefined', 'function', 'symbol'].includes(typeof value);
