import { readdirSync, readFileSync } from 'node:fs';

/** A fenced code block of a page. */
export interface DocsBlock {
  /** The path of the page. */
  page: string;
  /** The line of the fence, from 1. */
  line: number;
  /** The word after the fence: `sh`, `json`, …; empty without one. */
  language: string;
  /** A file name after the language: the reader saves the block as this file. */
  file: string | undefined;
  code: string;
  /** What the comment before the block says: `not run: <reason>`, or what its JSON is. */
  note: string | undefined;
  /** The text of the last heading before it. */
  heading: string;
}

/** Pages whose code blocks are run: the README and the guides. */
export function docsPages(): string[] {
  const guides = readdirSync('docs').filter((name) => name.endsWith('.md'));
  return ['README.md', ...guides.map((name) => `docs/${name}`)];
}

/** The code blocks of a page, in order. */
export function blocksOf(page: string): DocsBlock[] {
  const blocks: DocsBlock[] = [];
  let open: { block: DocsBlock; indent: string; lines: string[] } | undefined;
  let note: string | undefined;
  let heading = '';
  readFileSync(page, 'utf8')
    .split('\n')
    .forEach((text, index) => {
      const fence = /^( *)```(.*)$/.exec(text);
      if (open) {
        if (fence) {
          open.block.code = open.lines.join('\n');
          blocks.push(open.block);
          open = undefined;
        } else open.lines.push(text.startsWith(open.indent) ? text.slice(open.indent.length) : text);
      } else if (fence) {
        const [language = '', file] = fence[2]!.trim().split(' ');
        open = {
          block: { page, line: index + 1, language, file, code: '', note, heading },
          indent: fence[1]!,
          lines: [],
        };
        note = undefined;
      } else {
        heading = /^#+ (.*)/.exec(text)?.[1] ?? heading;
        const comment = /^ *<!-- (.*) -->$/.exec(text)?.[1];
        if (comment !== undefined || text.trim() !== '') note = comment;
      }
    });
  return blocks;
}

/** Why a block is not run; undefined for a block that is. */
export function reasonNotToRun({ note }: DocsBlock): string | undefined {
  return /^not run: (.+)$/.exec(note ?? '')?.[1];
}
