import { readFile } from 'node:fs/promises';
import { type Extraction, ExtractionError } from '../../domain/extraction.js';
import { decodeText } from './text-encoding.js';

/** Deeper than any real document; a deeper one is made to exhaust the stack. */
const MAX_DEPTH = 200;

/** JSON and JSON lines as lines of `path: value`; each element of a list at the root is a section. */
export async function extractJson(path: string): Promise<Extraction> {
  const root = parseAny(decodeText(await readFile(path)));
  const parts = Array.isArray(root) ? root : [root];
  const sections = gather(parts.map((part) => [...lines(part, '', 0)].join('\n'))).map((text) => ({
    text,
    headings: [],
  }));
  const title = typeof root === 'object' && root !== null ? (root as Record<string, unknown>).title : null;
  return { title: typeof title === 'string' ? title : null, sections };
}

function parseAny(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    try {
      return text
        .split('\n')
        .filter((line) => line.trim() !== '')
        .map((line) => JSON.parse(line) as unknown);
    } catch {
      throw new ExtractionError('E2001', 'It is not valid JSON.');
    }
  }
}

function* lines(value: unknown, path: string, depth: number): Generator<string> {
  if (depth > MAX_DEPTH) throw new ExtractionError('E2003', 'It is nested too deeply.');
  if (value === null || value === '') return;
  if (typeof value !== 'object') {
    yield path === '' ? String(value) : `${path}: ${String(value)}`;
    return;
  }
  if (Array.isArray(value) && value.every((element) => typeof element !== 'object')) {
    if (value.length > 0) yield* lines(value.join(', '), path, depth + 1);
    return;
  }
  for (const [key, child] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${key}]` : path === '' ? key : `.${key}`;
    yield* lines(child, `${path}${step}`, depth + 1);
  }
}

/** Short records share a section, so that a thousand two-line objects do not become a thousand sections. */
function gather(texts: string[]): string[] {
  const gathered: string[] = [];
  for (const text of texts.filter((text) => text !== '')) {
    const last = gathered.at(-1);
    if (last !== undefined && last.length + text.length < 1_500) gathered[gathered.length - 1] = `${last}\n\n${text}`;
    else gathered.push(text);
  }
  return gathered;
}
