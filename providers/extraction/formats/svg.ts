import { readFile } from 'node:fs/promises';
import { Parser } from 'htmlparser2';
import type { Extraction } from '../../../domain/extraction.js';
import { decodeText } from '../plain-text.js';

/** The elements whose text is for people. */
const READ = new Set(['title', 'desc', 'text']);
/** Elements whose text is not shown, also within a text. */
const NOISE = new Set(['style', 'script', 'metadata']);
/** An element with one of these is drawn elsewhere, and not as part of the word before. */
const MOVES = ['x', 'y', 'dx', 'dy'];

/** A drawing: its title, then the texts, titles and descriptions of its elements, a line for each, in the order of the file. */
export async function extractSvg(path: string): Promise<Extraction> {
  const lines: string[] = [];
  let title: string | null = null;
  let line: string[] = [];
  /** Elements around: within the element that is read, and within an element without text. */
  const depth = { all: 0, read: 0, noise: 0 };
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        depth.all += 1;
        const element = localName(name);
        if (depth.noise > 0 || NOISE.has(element)) depth.noise += 1;
        if (depth.read > 0 || READ.has(element)) depth.read += 1;
        if (MOVES.some((attribute) => attribute in attributes)) line.push(' ');
      },
      ontext(text) {
        if (depth.read > 0 && depth.noise === 0) line.push(text);
      },
      onclosetag(name) {
        depth.all -= 1;
        if (depth.noise > 0) depth.noise -= 1;
        if (depth.read > 0) depth.read -= 1;
        if (depth.read > 0) return;
        const read = line.join('').replace(/\s+/g, ' ').trim();
        line = [];
        if (read === '') return;
        // The title of the drawing itself.
        if (title === null && depth.all === 1 && localName(name) === 'title') title = read;
        else lines.push(read);
      },
    },
    { xmlMode: true },
  );
  parser.end(decodeText(await readFile(path)));
  // A drawing that says nothing else is found by its title.
  const text = lines.length > 0 ? lines.join('\n') : (title ?? '');
  return { title, sections: [{ text, headings: [] }] };
}

/** The name without the prefix of a namespace. */
const localName = (name: string) => name.slice(name.indexOf(':') + 1);
