import { countWords } from '../../domain/content/chunking.js';
import type { ExtractedSection } from '../../domain/extraction.js';
import { tableSections } from './rows.js';
import type { Grid } from './table-layout.js';

/** A table of so many words stays with the text around it; a larger one is a section of its own, cut between its rows. */
const SMALL_TABLE_WORDS = 120;

/** Gathers paragraphs under their headings, in reading order: one section from a heading to the next. */
export class HeadingSections {
  readonly sections: ExtractedSection[] = [];
  /** Open headings with their level, outermost first. */
  private open: { level: number; text: string }[] = [];
  private lines: string[] = [];

  /** @param level 1 is the outermost; a heading closes those of its level and below */
  heading(level: number, text: string): void {
    this.flush();
    this.open = this.open.filter((heading) => heading.level < level);
    this.open.push({ level, text: text.replace(/\s+/g, ' ').trim() });
  }

  paragraph(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== '') this.lines.push(trimmed);
  }

  /** A table of the document. @param small how a small one reads within the text; its rows when left out */
  table(grid: Grid, small?: string): void {
    const tables = tableSections(grid, { headings: this.openHeadings() });
    const words = tables.reduce((sum, { text }) => sum + countWords(text), 0);
    if (words > SMALL_TABLE_WORDS) {
      this.flush();
      this.sections.push(...tables);
    } else if (small !== undefined) {
      this.paragraph(small);
    } else {
      const depth = this.openHeadings().length;
      for (const { headings, text } of tables) this.paragraph([...headings.slice(depth), text].join('\n'));
    }
  }

  /** Closes the last section. A heading without text of its own is kept only as the heading of others. */
  end(): ExtractedSection[] {
    this.flush();
    // A document of headings alone (an outline) still says something.
    if (this.sections.length === 0 && this.open.length > 0)
      this.sections.push({ text: this.open.map(({ text }) => text).join('\n'), headings: [] });
    return this.sections;
  }

  private flush(): void {
    const text = this.lines.join('\n\n');
    this.lines = [];
    if (text !== '') this.sections.push({ text, headings: this.openHeadings() });
  }

  private openHeadings(): string[] {
    return this.open.map((heading) => heading.text).filter(Boolean);
  }
}
