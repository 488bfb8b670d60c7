import { styleText } from 'node:util';
import Table from 'cli-table3';
import type { StateTable, Tone } from '../../domain/state-machine.js';
import { COMMANDS } from '../commands.js';

type Style = Parameters<typeof styleText>[0];

const STYLES: Record<Tone, Style> = { idle: 'gray', busy: 'yellow', good: 'green', warn: 'magenta', bad: 'red' };

/** Whether output goes to a person, who can read colours and moving bars. */
export function isTerminal(): boolean {
  return process.stdout.isTTY === true && process.env.TERM !== 'dumb';
}

/** Styles text for a terminal; pipes, files and NO_COLOR get it as it is. */
export function paint(style: Style, text: string): string {
  return isTerminal() && !process.env.NO_COLOR ? styleText(style, text, { validateStream: false }) : text;
}

/** @param text what is shown instead of the state's name */
export function paintState(table: StateTable, state: string, text = state): string {
  return paint(STYLES[table[state]?.tone ?? 'idle'], text);
}

interface PrintOptions {
  /** Print JSON. */
  json?: boolean | undefined;
  /** Profile of the server that the command uses. */
  profile?: string | undefined;
  /** Words of a command to try next, without `postback`. People at a terminal read it below the text. */
  next?: readonly string[] | false | undefined;
}

/** Prints data as JSON when that was asked for, else as `text` says. */
export function print({ json, profile, next }: PrintOptions, data: unknown, text: () => string): void {
  console.log(json ? JSON.stringify(data, null, 2) : text());
  if (!next || json || !isTerminal()) return;
  const words = [...next, ...(profile === undefined ? [] : ['--profile', profile])];
  console.log(paint('dim', `\nNext: ${COMMANDS.postback} ${words.map(shellWord).join(' ')}`));
}

/** A word as a shell reads it: in quotes where it needs them. */
const shellWord = (word: string) => (/^[\w./:@%+=,-]+$/.test(word) ? word : quotedForShell(word));

export const quotedForShell = (value: string) => `'${value.replaceAll("'", "'\\''")}'`;

const BORDERS = [
  ...['top', 'top-left', 'top-mid', 'top-right', 'bottom', 'bottom-left', 'bottom-mid', 'bottom-right'],
  ...['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid'],
];

/** @param rows cells by the title of their column. @returns a table without borders; a sentence when it has no rows */
export function table(rows: readonly Record<string, unknown>[]): string {
  const [first] = rows;
  if (!first) return 'None.';
  const drawn = new Table({
    head: Object.keys(first).map((title) => paint('dim', title)),
    chars: { ...Object.fromEntries(BORDERS.map((name) => [name, ''])), middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  drawn.push(
    ...rows.map((row) => Object.values(row).map((cell) => (cell === null || cell === undefined ? '' : String(cell)))),
  );
  const lines = drawn.toString().split('\n');
  return lines.map((line) => line.trimEnd()).join('\n');
}

/** Prints that rows of two columns, name and value. */
export function fields(values: Record<string, unknown>): string {
  const shown = Object.entries(values).filter(
    ([, value]) => value !== null && value !== undefined && value !== '' && value !== false,
  );
  const width = Math.max(...shown.map(([name]) => name.length));
  return shown.map(([name, value]) => `${paint('dim', name.padEnd(width))}  ${value}`).join('\n');
}

/** A time of the API, as the reader's clock shows it. */
export function localTime(iso: string | null): string {
  return iso === null ? '' : new Date(iso).toLocaleString('sv-SE');
}

export function byteSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${(bytes / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
