import { existsSync, readFileSync } from 'node:fs';
import { type Document, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml';
import type { z } from 'zod';

type Path = readonly PropertyKey[];

/** The value of a YAML file, with the line numbers of its parts. */
export interface YamlFile<T> {
  value: T;
  /** Formats `<file>:<line>: <message>`. @param path to a value; the line is that of the nearest existing value */
  problem(path: Path, message: string): string;
}

/** As `readYaml`, for a file that need not exist. @param absent the value without the file */
export function readOptionalYaml<Schema extends z.ZodType>(
  path: string,
  displayPath: string,
  schema: Schema,
  problems: string[],
  absent: z.output<Schema>,
): YamlFile<z.output<Schema>> | undefined {
  if (existsSync(path)) return readYaml(path, displayPath, schema, problems);
  return { value: absent, problem: (_path, message) => `${displayPath}:1: ${message}` };
}

/**
 * Reads and validates a YAML file.
 * @param displayPath the file's name in messages
 * @param problems receives the problems of the file, one line each
 * @returns undefined when there are problems
 */
export function readYaml<Schema extends z.ZodType>(
  path: string,
  displayPath: string,
  schema: Schema,
  problems: string[],
): YamlFile<z.output<Schema>> | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    problems.push(`${displayPath}:1: the file is missing or cannot be read`);
    return undefined;
  }
  const lines = new LineCounter();
  // Python's YAML, which CrewAI uses, merges `<<: *anchor`.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, merge: true });
  const at = (line: number, message: string) => `${displayPath}:${line}: ${message}`;
  if (document.errors.length > 0) {
    for (const { code, pos, message } of document.errors) {
      const twice = `the key "${keyAt(text, pos[0])}" is there twice; Python takes the last one, and the other is lost`;
      problems.push(at(lines.linePos(pos[0]).line, code === 'DUPLICATE_KEY' ? twice : message));
    }
    return undefined;
  }
  if (document.contents === null) {
    problems.push(at(1, 'the file is empty'));
    return undefined;
  }
  const problem = (path: Path, message: string) => at(lines.linePos(offsetOf(document.contents, path)).line, message);
  const alias = unknownAlias(document);
  if (alias) {
    const message = `"*" starts a reference, and there is no anchor "${alias.name}"; put a text in quotes`;
    problems.push(at(lines.linePos(alias.offset).line, message));
    return undefined;
  }
  let content: unknown;
  try {
    content = document.toJS();
  } catch (error) {
    problems.push(at(1, (error as Error).message));
    return undefined;
  }
  const result = schema.safeParse(content, { reportInput: true });
  if (result.success) return { value: result.data, problem };
  for (const issue of result.error.issues) {
    if (issue.code === 'unrecognized_keys') {
      problems.push(...issue.keys.map((key) => problem([...issue.path, key], `unknown key "${key}"`)));
    } else {
      const missing = issue.code === 'invalid_type' && issue.input === undefined;
      const field = issue.path.map(String).join('.');
      problems.push(
        problem(issue.path, `${field === '' ? 'the file' : field} ${missing ? 'is missing' : messageOf(issue)}`),
      );
    }
  }
  return undefined;
}

/** The key of a map that starts at an offset. */
function keyAt(text: string, offset: number): string {
  return text.slice(offset, text.indexOf(':', offset)).replace(/["']/g, '').trim();
}

/** A reference to nothing, such as `role: **Clerk**`, which the parser does not count as an error. */
function unknownAlias(document: Document): { name: string; offset: number } | undefined {
  let found: { name: string; offset: number } | undefined;
  visit(document, {
    Alias(_key, alias) {
      if (alias.resolve(document) !== undefined) return undefined;
      found = { name: alias.source, offset: alias.range?.[0] ?? 0 };
      return visit.BREAK;
    },
  });
  return found;
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
