import { styleText } from 'node:util';

/** The demo's output in the terminal. */
const STATUS_COLOURS: Record<string, Parameters<typeof styleText>[0]> = {
  queued: 'gray',
  processing: 'yellow',
  graph_creation: 'cyan',
  completed: 'green',
  errored: 'red',
};
const WIDTH = 96;
const MAX_LINES_OF_TEXT = 4;
const MAX_RELATIONS = 4;

export function printHeading(text: string): void {
  console.log(`\n${styleText('bold', `▸ ${text}`)}`);
}

export function printDone(text: string): void {
  console.log(`  ${styleText('green', '✓')} ${text}`);
}

export function printStatus(id: string, status: string, error: string | null): void {
  const mark = status === 'completed' ? '✓' : status === 'errored' ? '✗' : '·';
  const colour = STATUS_COLOURS[status] ?? 'white';
  console.log(`  ${styleText(colour, mark)} ${id.padEnd(24)} ${styleText(colour, status)}${error ? `  ${error}` : ''}`);
}

export function printChunk(source: string, score: number, text: string): void {
  console.log(`  ${styleText('cyan', source)} ${styleText('dim', score.toFixed(4))}`);
  for (const line of wrap(text.replace(/\s+/g, ' '), WIDTH - 4).slice(0, MAX_LINES_OF_TEXT)) console.log(`    ${line}`);
}

export function printRelations(relations: { source: string; relation: string; target: string }[]): void {
  if (relations.length === 0) return;
  console.log(`  ${styleText('dim', 'from the graph:')}`);
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
