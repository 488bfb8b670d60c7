import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';
import {
  type Alias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml';
import type { z } from 'zod';

type Path = readonly PropertyKey[];

/** What is wrong with the files of a crew, each with file and line. */
export interface Findings {
  /** What keeps the crew from running. */
  problems: string[];
  /** What is ignored. */
  warnings: string[];
}

/** Adds findings about a file: `<file>:<line>: <message>`. The line is that of the nearest existing value of the path. */
export interface Report {
  problem(path: Path, message: string): void;
  warn(path: Path, message: string): void;
}

/** The value of a YAML file, with a report that knows the lines of its parts. */
export type YamlFile<T> = Report & { value: T };

function reportOn(displayPath: string, lineOf: (path: Path) => number, { problems, warnings }: Findings): Report {
  const format = (path: Path, message: string) => `${displayPath}:${lineOf(path)}: ${message}`;
  return {
    problem: (path, message) => void problems.push(format(path, message)),
    warn: (path, message) => void warnings.push(format(path, message)),
  };
}

/** A report on a part of a file. @param prefix put before each message */
export function within(report: Report, place: Path, prefix = ''): Report {
  return {
    problem: (path, message) => report.problem([...place, ...path], `${prefix}${message}`),
    warn: (path, message) => report.warn([...place, ...path], `${prefix}${message}`),
  };
}

/** A file that does not exist, with the value that this means. */
export function absentFile<T>(displayPath: string, value: T, findings: Findings): YamlFile<T> {
  return { value, ...reportOn(displayPath, () => 1, findings) };
}

/**
 * Reads and validates a YAML file.
 * @param displayPath the file's name in messages
 * @param findings receives the problems of the file, one line each
 * @param essential a setting that each entry of the file needs; entries without it that others merge are left out
 * @returns undefined when there are problems
 */
export function readYaml<Schema extends z.ZodType>(
  path: string,
  displayPath: string,
  schema: Schema,
  findings: Findings,
  essential?: string,
): YamlFile<z.output<Schema>> | undefined {
  const lines = new LineCounter();
  const fail = (offset: number | null, message: string): undefined => {
    const line = offset === null ? 1 : lines.linePos(offset).line;
    findings.problems.push(`${displayPath}:${line}: ${message}`);
  };
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch {
    return fail(null, 'the file is missing or cannot be read');
  }
  if (!isUtf8(bytes)) return fail(null, 'the file is not UTF-8; save it with this encoding');
  const text = bytes.toString();
  // Python's YAML, which CrewAI uses, merges `<<: *anchor`.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  // Without its tag, a text such as `!Urgent: reply` would lose its first word.
  const errors = [...document.errors, ...document.warnings.filter(({ code }) => code === 'TAG_RESOLVE_FAILED')];
  for (const error of errors) fail(error.pos[0], describe(error, text));
  if (errors.length > 0) return undefined;
  if (document.contents === null) return fail(null, 'the file is empty');
  const alias = unknownAlias(document);
  if (alias)
    return fail(
      alias.range?.[0] ?? 0,
      `"*" starts a reference, and there is no anchor "${alias.source}"; put a text in quotes`,
    );
  let content: unknown;
  try {
    content = document.toJS();
    if (essential !== undefined) removeTemplates(document, content, essential);
  } catch (error) {
    return fail(null, (error as Error).message);
  }
  const report = reportOn(displayPath, (place) => lines.linePos(offsetOf(document.contents, place)).line, findings);
  const result = schema.safeParse(content, { reportInput: true });
  if (result.success) return { value: result.data, ...report };
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) report.problem([...issue.path, key], `unknown key "${key}"`);
    } else {
      const missing = issue.code === 'invalid_type' && issue.input === undefined;
      const field = issue.path.map(String).join('.') || 'the file';
      report.problem(issue.path, `${field} ${missing ? 'is missing' : messageOf(issue)}`);
    }
  }
  return undefined;
}

const QUOTE_COLON = 'put a text with ": " or a ":" at its end in quotes';
const QUOTE_START = 'put a text that starts with this in quotes';

/** Says what to do about an error, where the parser's own message does not. */
function describe({ code, pos: [offset], message }: YAMLError, text: string): string {
  const twice = `the key "${keyAt(text, offset)}" is there twice; Python takes the last one, and the other is lost`;
  if (code === 'DUPLICATE_KEY') return twice;
  if (code === 'MULTIPLE_DOCS') return 'the file has several documents, divided by "---"; it must have one';
  if (code === 'BLOCK_AS_IMPLICIT_KEY') return `${message}; ${QUOTE_COLON}`;
  if (code === 'BAD_SCALAR_START' || code === 'TAG_RESOLVE_FAILED') return `${message}; ${QUOTE_START}`;
  // As in `role: {topic} expert`.
  if (message === 'Unexpected scalar at node end') return `${message}; put a text that starts with { or [ in quotes`;
  return message;
}

/** The key of a map that starts at an offset. */
function keyAt(text: string, offset: number): string {
  return text.slice(offset, text.indexOf(':', offset)).replace(/["']/g, '').trim();
}

/** A reference to nothing, such as `role: **Clerk**`, which the parser does not count as an error. */
function unknownAlias(document: ReturnType<typeof parseDocument>): Alias | undefined {
  let found: Alias | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      found = alias;
      return visit.BREAK;
    },
  });
  return found;
}

/** Removes entries such as `defaults: &defaults`, whose settings others merge, and which are no agents or tasks themselves. */
function removeTemplates(document: ReturnType<typeof parseDocument>, content: unknown, essential: string): void {
  if (!isMap(document.contents)) return;
  const entries = content as Record<string, object>;
  const used = new Set<string>();
  visit(document, { Alias: (_key, { source }) => void used.add(source) });
  for (const { key, value } of document.contents.items) {
    if (!isScalar(key) || !isMap(value) || value.anchor === undefined || !used.has(value.anchor)) continue;
    const name = String(key.value);
    if (!(essential in entries[name]!)) delete entries[name];
  }
}

/** The message of an issue; for an invalid key, the message of its rule. */
function messageOf(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}

/** The offset of a value in the text, or of the key of a map entry. */
function offsetOf(contents: unknown, path: Path): number {
  let node: unknown = contents;
  let offset = 0;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (isScalar(key) ? String(key.value) : undefined) === String(step));
      if (!isPair(pair)) return offset;
      if (isNode(pair.key) && pair.key.range) offset = pair.key.range[0];
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(step)];
      if (isNode(node) && node.range) offset = node.range[0];
    } else return offset;
  }
  return offset;
}
