import { countWords } from '../../../domain/content/chunking.js';
import type { ExtractedSection } from '../../../domain/extraction.js';
import type { Grid } from '../tables/layout.js';
import { tableSections } from '../tables/sections.js';

/** Tables of at most this many words stay in the text around them. A larger one is a section of its own, split between rows. */
const SMALL_TABLE_WORDS = 120;

/** Collects a document in reading order: one section from each heading to the next. */
export class HeadingSections {
  readonly sections: ExtractedSection[] = [];
  /** Current headings with their level, outermost first. */
  private open: { level: number; text: string }[] = [];
  private lines: string[] = [];

  /** @param level 1 is the outermost; the heading replaces those of its level and below */
  heading(level: number, text: string): void {
    this.flush();
    this.open = this.open.filter((heading) => heading.level < level);
    this.open.push({ level, text: text.replace(/\s+/g, ' ').trim() });
  }

  paragraph(text: string): void {
    const trimmed = text.trim();
    if (trimmed !== '') this.lines.push(trimmed);
  }

  /** @param inline text of a small table within the section; its rows when left out */
  table(grid: Grid, inline?: string): void {
    const tables = tableSections(grid, { headings: this.openHeadings() });
    const words = tables.reduce((sum, { text }) => sum + countWords(text), 0);
    if (words > SMALL_TABLE_WORDS) {
      this.flush();
      this.sections.push(...tables);
    } else if (inline !== undefined) {
      this.paragraph(inline);
    } else {
      const depth = this.openHeadings().length;
      for (const { headings, text } of tables) this.paragraph([...headings.slice(depth), text].join('\n'));
    }
  }

  /** Closes the last section. A heading without text appears only as a heading of other sections. */
  finish(): ExtractedSection[] {
    this.flush();
    // A document of headings alone (an outline) has its headings as text.
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
