import { readFile } from 'node:fs/promises';
import { isSafeNumber } from 'lossless-json';
import { type Extraction, ExtractionError } from '../../../domain/extraction.js';
import { decodeText } from '../plain-text.js';

/** Deeper than any real document; deeper nesting could exhaust the stack. */
const MAX_DEPTH = 200;

/** JSON and JSON lines as lines of `path: value`. The elements of a list at the root are sections. @throws ExtractionError E2001, E2003 */
export async function extractJson(path: string): Promise<Extraction> {
  const root = parseAny(decodeText(await readFile(path)));
  const records = Array.isArray(root) ? root : [root];
  const texts = joinShort(records.map((record) => [...lines(record, '', 0)].join('\n')));
  const sections = texts.map((text) => ({ text, headings: [] }));
  const title = typeof root === 'object' && root !== null ? (root as Record<string, unknown>).title : null;
  return { title: typeof title === 'string' ? title : null, sections };
}

function parseAny(text: string): unknown {
  try {
    return parseOne(text);
  } catch (error) {
    if (error instanceof RangeError) throw new ExtractionError('E2003', 'It is nested too deeply.');
    try {
      return text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map(parseOne);
    } catch {
      throw new ExtractionError('E2001', 'It is not valid JSON.');
    }
  }
}

/**
 * `JSON.parse` shows numbers as they are written. The parser of `lossless-json` holds some 30 bytes for each character of a
 * string: 8 MB would fill an extraction process.
 * @param context has the value as it is written
 */
function withAllDigits(_name: string, value: unknown, context?: { source?: string }): unknown {
  // A number with more digits than JavaScript holds, such as an id, stays as it is written.
  const source = context?.source;
  return typeof value === 'number' && source !== undefined && !isSafeNumber(source) ? source : value;
}

const parseOne = (text: string) => JSON.parse(text, withAllDigits) as unknown;

function* lines(value: unknown, path: string, depth: number): Generator<string> {
  if (depth > MAX_DEPTH) throw new ExtractionError('E2003', 'It is nested too deeply.');
  if (value === null || value === '') return;
  if (typeof value !== 'object') {
    yield path === '' ? String(value) : `${path}: ${String(value)}`;
    return;
  }
  if (Array.isArray(value) && value.every((element) => typeof element !== 'object')) {
    if (value.length > 0) yield* lines(value.join(isLines(value) ? '' : ', '), path, depth + 1);
    return;
  }
  for (const [key, child] of Object.entries(value)) {
    const suffix = Array.isArray(value) ? `[${key}]` : path === '' ? key : `.${key}`;
    yield* lines(child, `${path}${suffix}`, depth + 1);
  }
}

/** Whether a list has the lines of a text, as the cells of notebooks do. */
function isLines(list: readonly unknown[]): boolean {
  return list.length > 1 && list.slice(0, -1).every((line) => typeof line === 'string' && line.endsWith('\n'));
}

/** Joins short records, so that a thousand two-line objects do not become a thousand sections. */
function joinShort(texts: string[]): string[] {
  const joined: string[] = [];
  for (const text of texts.filter((text) => text !== '')) {
    const last = joined.at(-1);
    if (last !== undefined && last.length + text.length < 1_500) joined[joined.length - 1] = `${last}\n\n${text}`;
    else joined.push(text);
  }
  return joined;
}
