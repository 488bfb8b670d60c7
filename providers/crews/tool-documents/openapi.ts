import { parse } from 'yaml';
import { z } from 'zod';

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** Bounds what a document that refers to itself expands to. */
const MAX_DEPTH = 12;
/** Values of an operation after its references are replaced. References side by side multiply at each level. */
const MAX_VALUES = 20_000;
const MAX_DESCRIPTION = 1_000;

const parameter = z.object({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema: z.unknown().optional(),
});

export type Parameter = z.output<typeof parameter>;

/** An operation as a tool needs it. */
export interface Operation {
  method: Uppercase<(typeof METHODS)[number]>;
  /** URL with `{placeholders}`. */
  url: string;
  description: string;
  parameters: Parameter[];
  /** JSON Schema of a JSON body; absent when the operation has none. */
  body?: unknown;
  bodyRequired: boolean;
}

/** The document is at fault. The message is for the operator and the model. */
export class ToolDocumentError extends Error {
  override readonly name = 'ToolDocumentError';
}

export interface ToolDocument {
  text: string;
  /** The `operationId` of the wanted operation. */
  operation: string;
  /** Of the document; the address of its server may be relative to it. */
  address: string;
}

/**
 * The work of a process that reads the documents of tools: finds an operation in an OpenAPI document, JSON or YAML, and replaces
 * the references in it.
 * @throws ToolDocumentError
 */
export default async function readOperation({ text, operation: id, address }: ToolDocument): Promise<Operation> {
  const root = parseDocument(text);
  for (const [path, item] of Object.entries(isObject(root.paths) ? root.paths : {})) {
    if (!isObject(item)) continue;
    for (const method of METHODS) {
      const operation = item[method];
      if (!isObject(operation) || operation.operationId !== id) continue;
      return describe({ root, item, operation }, method, path, address);
    }
  }
  throw new ToolDocumentError(`The OpenAPI document of the tool has no operation "${id}".`);
}

/** How deep a document may be nested. The parser of YAML calls itself at each level. */
const MAX_NESTING = 200;

/** @returns an upper bound of the nesting: by brackets, quoted ones included, and by indentation */
function nestingOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const bracket of text.match(/[[\]{}]/g) ?? []) {
    depth += bracket === '[' || bracket === '{' ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  const indentations = text.match(/^(?:- | )+/gm) ?? [];
  return indentations.reduce((most, { length }) => Math.max(most, length), deepest);
}

type JsonObject = Record<string, unknown>;

/** An operation, the path that it stands in, and the whole document. */
interface Place {
  root: JsonObject;
  item: JsonObject;
  operation: JsonObject;
}

function parseDocument(text: string): JsonObject {
  let document: unknown;
  if (nestingOf(text) > MAX_NESTING)
    throw new ToolDocumentError('The OpenAPI document of the tool is nested too deeply.');
  try {
    document = parseText(text);
  } catch {
    throw new ToolDocumentError('The OpenAPI document of the tool cannot be read.');
  }
  return isObject(document) ? document : {};
}

/** YAML includes JSON, but its parser takes a hundred times as long. */
function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return parse(text);
  }
}

function describe(place: Place, method: (typeof METHODS)[number], path: string, address: string): Operation {
  const { root, item, operation } = place;
  const url = `${serverOf(place, address)}${path}`;
  const resolve = createResolver(root);
  const listed = [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
  const parameters = new Map<string, Parameter>();
  for (const entry of listed) {
    const read = parameter.safeParse(resolve(entry));
    // The service keeps no cookies.
    if (read.success && read.data.in !== 'cookie') parameters.set(`${read.data.in} ${read.data.name}`, read.data);
  }
  const requestBody = resolve(operation.requestBody);
  const content = isObject(requestBody) && isObject(requestBody.content) ? requestBody.content : {};
  const json = content['application/json'];
  const about = [operation.summary, operation.description].filter((text) => typeof text === 'string').join('\n');
  return {
    method: method.toUpperCase() as Operation['method'],
    url,
    description: (about || `${method.toUpperCase()} ${path}`).slice(0, MAX_DESCRIPTION),
    parameters: [...parameters.values()],
    ...(isObject(json) ? { body: json.schema ?? {} } : {}),
    bodyRequired: isObject(json) && isObject(requestBody) && requestBody.required === true,
  };
}

/** @returns the address of the server of an operation, without a final slash. @throws ToolDocumentError */
function serverOf({ root, item, operation }: Place, address: string): string {
  const servers = [operation.servers, item.servers, root.servers].find(Array.isArray) as unknown[] | undefined;
  const [server] = servers ?? [];
  const url = isObject(server) && typeof server.url === 'string' ? server.url : '/';
  if (URL.canParse(url, address)) return new URL(url, address).href.replace(/\/$/, '');
  throw new ToolDocumentError('The OpenAPI document of the tool has a server whose URL is not valid.');
}

/** @returns a function that replaces references within the document by what they refer to */
function createResolver(root: JsonObject) {
  let values = 0;
  const resolve = (value: unknown, depth = 0): unknown => {
    if (++values > MAX_VALUES) throw new ToolDocumentError('The operation of the tool is too large to describe.');
    if (depth > MAX_DEPTH) return {};
    if (Array.isArray(value)) return value.map((entry) => resolve(entry, depth + 1));
    if (!isObject(value)) return value;
    if (typeof value.$ref === 'string') return resolve(lookUp(root, value.$ref), depth + 1);
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, resolve(entry, depth + 1)]));
  };
  return (value: unknown) => resolve(value);
}

/** @param reference a JSON Pointer such as `#/components/schemas/Place` */
function lookUp(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return {};
  const steps = reference
    .slice(2)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return steps.reduce<unknown>(
    (value, step) => (isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined),
    root,
  );
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
