const INDENT = '  ';
/** Deeper items are indented as these are. */
const MAX_DEPTH = 8;

/** Collects a list: a line for each item, indented by its depth, with a bullet or a number in front. */
export class ListLines {
  private lines: string[] = [];
  private indent = '';
  private mark: string | null = null;
  private open = false;

  /** Starts an item. @param depth 1 is the outermost. @param number of an ordered list */
  item(depth: number, number: number | null): void {
    this.open = true;
    this.indent = INDENT.repeat(Math.min(depth, MAX_DEPTH) - 1);
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
