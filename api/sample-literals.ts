/** JSON values as the languages of samples write them. */

/** What fits into so many characters is written on one line. */
const LINE = 72;

interface Notation {
  indent: number;
  text(value: string): string;
  name(value: string): string;
  constants: Record<'null' | 'true' | 'false', string>;
  /** Braces with what they hold on one line. */
  inBraces(content: string): string;
}

const JAVASCRIPT: Notation = {
  indent: 2,
  text: (value) => (/['\\\u0000-\u001f]/.test(value) ? JSON.stringify(value) : `'${value}'`),
  name: (value) => (/^[A-Za-z_$][\w$]*$/.test(value) ? value : `'${value}'`),
  constants: { null: 'null', true: 'true', false: 'false' },
  inBraces: (content) => `{ ${content} }`,
};

const PYTHON: Notation = {
  indent: 4,
  text: (value) => JSON.stringify(value),
  name: (value) => JSON.stringify(value),
  constants: { null: 'None', true: 'True', false: 'False' },
  inBraces: (content) => `{${content}}`,
};

/** @returns an expression of JavaScript */
export const javascriptLiteral = (value: unknown): string => literal(value, JAVASCRIPT);

/** @returns an expression of Python */
export const pythonLiteral = (value: unknown): string => literal(value, PYTHON);

function literal(value: unknown, notation: Notation): string {
  if (typeof value === 'string') return notation.text(value);
  if (value === null || typeof value === 'boolean') return notation.constants[`${value}`];
  if (typeof value !== 'object') return JSON.stringify(value);
  const isList = Array.isArray(value);
  const entries = isList
    ? value.map((entry) => literal(entry, notation))
    : Object.entries(value).map(([name, entry]) => `${notation.name(name)}: ${literal(entry, notation)}`);
  if (entries.length === 0) return isList ? '[]' : '{}';
  const short = entries.join(', ');
  if (short.length <= LINE && !short.includes('\n')) return isList ? `[${short}]` : notation.inBraces(short);
  const lines = entries.map((entry) => `${indented(entry, notation.indent)},\n`).join('');
  return isList ? `[\n${lines}]` : `{\n${lines}}`;
}

/** Indents every line. */
export function indented(text: string, spaces: number): string {
  return text.replace(/^/gm, ' '.repeat(spaces));
}

/** @returns one word of a POSIX shell */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
