import { styleText } from 'node:util';

/** The demo's output in the terminal. */
const WIDTH = 96;
const MAX_RELATIONS = 3;

export function printHeading(text: string, detail = ''): void {
  console.log(`\n${styleText('bold', `▸ ${text}`)}${detail ? `  ${styleText('dim', detail)}` : ''}`);
}

export function printDone(text: string): void {
  console.log(`  ${styleText('green', '✓')} ${text}`);
}

export function printFailed(text: string): void {
  console.log(`  ${styleText('red', '✗')} ${text}`);
}

export function printWaiting(text: string): void {
  console.log(`  ${styleText('magenta', '●')} ${text}`);
}

/** @param states that the item went through */
export function printItem(id: string, states: readonly string[], seconds: number, error: string | null): void {
  const last = states.at(-1)!;
  const path = states.slice(0, -1).map((state) => styleText('dim', `${state} →`));
  const end = styleText(error === null ? 'green' : 'red', last);
  const line = `${id.padEnd(22)} ${[...path, end].join(' ')} ${styleText('dim', `${seconds.toFixed(1)} s`)}`;
  if (error === null) printDone(line);
  else printFailed(`${line}  ${error}`);
}

/** Prints a text in quotation marks, cut after some lines. */
export function printQuote(source: string, text: string, maxLines: number): void {
  const lines = wrap(text.replace(/\s+/g, ' ').trim(), WIDTH - 8);
  const shown = lines.slice(0, maxLines);
  if (lines.length > maxLines) shown[maxLines - 1] += ' …';
  console.log(`  ${styleText('cyan', source)}`);
  for (const line of shown) console.log(`    ${line}`);
}

export function printRelations(relations: { source: string; relation: string; target: string }[]): void {
  for (const { source, relation, target } of relations.slice(0, MAX_RELATIONS)) {
    console.log(`    ${source} ${styleText('magenta', `—${relation}→`)} ${target}`);
  }
}

export function printLink(name: string, url: string): void {
  console.log(`  ${name.padEnd(12)} ${styleText('underline', url)}`);
}

function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
