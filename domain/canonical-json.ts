import { isLosslessNumber, LosslessNumber, parse } from 'lossless-json';

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

/**
 * Parses JSON and keeps numbers as they are written: 1.0 stays 1.0, and large integers keep all digits.
 * @throws JsonError for text that is not JSON, and for an object with a duplicate name
 */
export function parseExact(text: string): Json {
  try {
    return parse(text, undefined, (number) => new LosslessNumber(number)) as Json;
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
  const pieces: string[] = [];
  let remaining = maxLength;
  write(value, 0, (piece) => {
    remaining -= piece.length;
    // Checked while writing, so that a value that is too long is rejected before all of it has been written.
    if (remaining < 0) throw new JsonError(`It must not exceed ${maxLength} characters when it is indented.`);
    pieces.push(piece);
  });
  return pieces.join('');
}

/** @param members canonical JSON by name. @returns the object as canonical JSON: the members are indented, not written again */
export function canonicalObject(members: { [name: string]: string }): string {
  const lines = Object.keys(members)
    .sort(byCodePoint)
    // JSON strings contain no line breaks, so each line break starts a line of JSON.
    .map((name) => `  ${writeString(name)}: ${members[name]!.replaceAll('\n', '\n  ')}`);
  return `{\n${lines.join(',\n')}\n}`;
}

function write(value: Json, depth: number, push: (piece: string) => void): void {
  if (depth > MAX_DEPTH) throw new JsonError(`It is nested deeper than ${MAX_DEPTH} levels.`);
  if (!isContainer(value)) {
    push(writeScalar(value));
    return;
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  const members: [prefix: string, item: Json][] = Array.isArray(value)
    ? value.map((item) => ['', item])
    : Object.keys(value)
        .sort(byCodePoint)
        .map((name) => [`${writeString(name)}: `, value[name]!]);
  if (members.length === 0) {
    push(`${open}${close}`);
    return;
  }
  const indent = `\n${'  '.repeat(depth + 1)}`;
  push(open!);
  for (const [n, [prefix, item]] of members.entries()) {
    push(`${n === 0 ? '' : ','}${indent}${prefix}`);
    write(item, depth + 1, push);
  }
  push(`\n${'  '.repeat(depth)}${close}`);
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

/** Python sorts by code points; JavaScript's own order, by UTF-16 units, differs beyond U+FFFF. */
function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const [left, right] = [a.charCodeAt(index), b.charCodeAt(index)];
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Sorts surrogates after all other units, because they encode the highest code points. */
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

/**
 * Changes any value so that it can be written: values without a JSON form are dropped or become null, halves of surrogate
 * pairs become U+FFFD, and levels that are too deep become null. For responses of third parties, which must not fail a job.
 */
export function tidyJson(value: unknown): Json {
  const plain = JSON.stringify(value, (_name, part) => (typeof part === 'bigint' ? String(part) : part)) ?? 'null';
  return tidy(JSON.parse(plain), 0);
}

function tidy(value: Json, depth: number): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (value === null || typeof value !== 'object' || isLosslessNumber(value)) return value;
  // Leaves room for the levels of the payload around the value.
  if (depth >= MAX_DEPTH - 10) return null;
  if (Array.isArray(value)) return value.map((item) => tidy(item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name.toWellFormed(), tidy(item, depth + 1)]));
}
