import { Parser } from 'htmlparser2';
import { SourceError } from '../../../domain/connectors/connectors.js';

/** Bounds of one document. A sitemap of 50,000 pages with pictures has half a million elements. */
const MAX_ELEMENTS = 1_000_000;
const MAX_DEPTH = 64;
/** Characters kept of the text of one element. */
const MAX_VALUE = 8_192;

/**
 * Reads XML piece by piece.
 * @param onElement called at the end of each element, with the names from the root to it and its own text
 * @throws SourceError TOO_LARGE
 */
export async function readXml(
  pieces: AsyncIterable<string> | Iterable<string>,
  onElement: (path: readonly string[], text: string) => void,
): Promise<void> {
  const names: string[] = [];
  const texts: string[] = [];
  let elements = 0;
  const parser = new Parser(
    {
      onopentag(name) {
        if (++elements > MAX_ELEMENTS) throw new SourceError('TOO_LARGE', 'The listing has too many elements.');
        if (names.length === MAX_DEPTH) throw new SourceError('TOO_LARGE', 'The listing is nested too deeply.');
        names.push(name);
        texts.push('');
      },
      ontext(text) {
        const last = texts.length - 1;
        if (last >= 0 && texts[last]!.length < MAX_VALUE) texts[last] += text.slice(0, MAX_VALUE);
      },
      onclosetag() {
        onElement(names, texts.at(-1)!);
        names.pop();
        texts.pop();
      },
    },
    { xmlMode: true },
  );
  for await (const piece of pieces) parser.write(piece);
  parser.end();
}

/** Whether an element stands at the end of such a path. */
export function endsWith(path: readonly string[], ...names: string[]): boolean {
  return names.every((name, index) => path[path.length - names.length + index] === name);
}
