import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export const HALVES = ['development', 'held-out'] as const;

/** A relation that a paragraph states. Each part is a list of forms that are all right. */
export interface Label {
  source: string[];
  /** Parts of words: `acquir` fits "has acquired". */
  relation: string[];
  target: string[];
}

export interface Paragraph {
  kind: string;
  half: (typeof HALVES)[number];
  text: string;
  labels: Label[];
}

const FOLDER = fileURLToPath(new URL('../../../bench/graph/paragraphs/', import.meta.url));

/** Reads the paragraphs that were labelled by hand; each file holds one kind of text. */
export function readParagraphs(): Paragraph[] {
  return readdirSync(FOLDER)
    .sort()
    .flatMap((file) => {
      const records = parse(readFileSync(`${FOLDER}${file}`, 'utf8')) as {
        half: Paragraph['half'];
        text: string;
        relations: string[];
      }[];
      const kind = file.replace('.yaml', '');
      return records.map(({ half, text, relations }) => ({ kind, half, text, labels: relations.map(readLabel) }));
    });
}

/** "Acme | will open/opens | Leipzig" */
function readLabel(line: string): Label {
  const [source, relation, target] = line.split(' | ').map((part) => part.split('/'));
  if (!source || !relation || !target) throw new Error(`not a label: ${line}`);
  return { source, relation, target };
}
