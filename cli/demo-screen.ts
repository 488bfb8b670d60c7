import { styleText } from 'node:util';

/** How the demo looks in a terminal. */
const COLOURS: Record<string, Parameters<typeof styleText>[0]> = {
  queued: 'gray',
  processing: 'yellow',
  graph_creation: 'cyan',
  completed: 'green',
  errored: 'red',
};
const WIDTH = 96;

export function heading(text: string): void {
  console.log(`\n${styleText('bold', `▸ ${text}`)}`);
}

export function done(text: string): void {
  console.log(`  ${styleText('green', '✓')} ${text}`);
}

export function status(id: string, state: string, error: string | null): void {
  const mark = state === 'completed' ? '✓' : state === 'errored' ? '✗' : '·';
  const colour = COLOURS[state] ?? 'white';
  console.log(`  ${styleText(colour, mark)} ${id.padEnd(24)} ${styleText(colour, state)}${error ? `  ${error}` : ''}`);
}

export function answer(source: string, score: number, text: string): void {
  console.log(`  ${styleText('cyan', source)} ${styleText('dim', score.toFixed(4))}`);
  for (const line of wrapped(text.replace(/\s+/g, ' '), WIDTH - 4).slice(0, 4)) console.log(`    ${line}`);
}

export function relations(all: { source: string; relation: string; target: string }[]): void {
  if (all.length === 0) return;
  console.log(`  ${styleText('dim', 'from the graph:')}`);
  for (const { source, relation, target } of all.slice(0, 4)) {
    console.log(`    ${source} ${styleText('magenta', `—${relation}→`)} ${target}`);
  }
}

export function link(name: string, url: string): void {
  console.log(`  ${name.padEnd(12)} ${styleText('underline', url)}`);
}

function wrapped(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + word.length + 1 > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}
