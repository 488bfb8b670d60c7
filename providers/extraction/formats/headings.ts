import { countWords } from '../../../domain/content/chunking.js';
import type { ExtractedSection } from '../../../domain/extraction.js';
import { asCode, readMarks, withoutMarks } from '../code-marks.js';
import type { Grid } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';

/** Tables of at most this many words stay in the text around them. A larger one is a section of its own, split between rows. */
const SMALL_TABLE_WORDS = 120;

interface Heading {
  level: number;
  text: string;
  /** Whether something stands below it. */
  used: boolean;
}

/** Collects a document in reading order: one section from each heading to the next. Texts may have marks around code. */
export class HeadingSections {
  readonly sections: ExtractedSection[] = [];
  /** Current headings, outermost first. */
  private open: Heading[] = [];
  private paragraphs: string[] = [];
  private readonly list = new ListLines();

  /** @param level 1 is the outermost; the heading replaces those of its level and below */
  heading(level: number, text: string): void {
    this.flush();
    this.closeHeadings(level);
    this.open.push({ level, text: withoutMarks(text).replace(/\s+/g, ' ').trim(), used: false });
  }

  paragraph(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== '' && !this.list.add(trimmed)) this.paragraphs.push(trimmed);
  }

  /** Starts an item of a list. Its paragraphs follow. @param depth 1 is the outermost. @param number of an ordered list */
  item(depth: number, number: number | null = null): void {
    this.list.item(depth, number);
  }

  endList(): void {
    this.addBlock(this.list.close());
  }

  /** Lines of code, which stay as they are. */
  code(text: string): void {
    this.addBlock(this.list.take());
    this.addBlock(asCode(text.replace(/^(?:[^\S\n]*\n)+/, '').trimEnd()));
  }

  table(grid: Grid): void {
    this.addBlock(this.list.take());
    const tables = tableSections(grid, { headings: this.openHeadings() });
    const words = tables.reduce((sum, { text }) => sum + countWords(text), 0);
    if (words > SMALL_TABLE_WORDS) {
      this.flush();
      this.use();
      for (const { text, headings, ...table } of tables)
        this.sections.push({ ...readMarks(text), headings: headings.map(withoutMarks), ...table });
    } else {
      const depth = this.openHeadings().length;
      for (const { headings, text } of tables) this.addBlock([...headings.slice(depth), text].join('\n'));
    }
  }

  /** Closes the last section. */
  finish(): ExtractedSection[] {
    this.flush();
    this.closeHeadings(0);
    return this.sections;
  }

  private addBlock(text: string): void {
    if (text.trim() !== '') this.paragraphs.push(text);
  }

  private flush(): void {
    this.addBlock(this.list.take());
    const text = this.paragraphs.join('\n\n');
    this.paragraphs = [];
    if (text === '') return;
    this.use();
    this.sections.push({ ...readMarks(text), headings: this.openHeadings() });
  }

  private use(): void {
    for (const heading of this.open) heading.used = true;
  }

  /** Closes the headings of this level and below. One with nothing below it is a section, which `withoutBareHeadings` joins. */
  private closeHeadings(level: number): void {
    if (this.open.some(({ level: own, used }) => own >= level && !used)) {
      for (const [at, { text, used }] of this.open.entries()) {
        if (!used && text !== '') this.sections.push({ text, headings: this.openHeadings(this.open.slice(0, at + 1)) });
      }
      this.use();
    }
    this.open = this.open.filter((heading) => heading.level < level);
  }

  private openHeadings(open = this.open): string[] {
    return open.map((heading) => heading.text).filter(Boolean);
  }
}

const INDENT = '  ';
/** Deeper items are indented as these are. */
const MAX_LIST_DEPTH = 8;

/** Collects a list: a line for each item, indented by its depth, with a bullet or a number in front. */
class ListLines {
  private lines: string[] = [];
  private indent = '';
  private mark: string | null = null;
  private open = false;

  /** Starts an item. @param depth 1 is the outermost. @param number of an ordered list */
  item(depth: number, number: number | null): void {
    this.open = true;
    this.indent = INDENT.repeat(Math.min(depth, MAX_LIST_DEPTH) - 1);
    this.mark = number === null ? '• ' : `${number}. `;
  }

  /** Adds a line to the current item. @returns false when no list is open */
  add(text: string): boolean {
    if (!this.open) return false;
    this.lines.push(this.indent + (this.mark ?? INDENT) + onOneLine(text));
    this.mark = null;
    return true;
  }

  /** @returns the lines so far. The list goes on after what stands between them, such as code */
  take(): string {
    const text = this.lines.join('\n');
    this.lines = [];
    return text;
  }

  /** Ends the list. @returns its last lines */
  close(): string {
    this.open = false;
    this.mark = null;
    return this.take();
  }
}

function onOneLine(text: string): string {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter(Boolean).join(' ');
}
