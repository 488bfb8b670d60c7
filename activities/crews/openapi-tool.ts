import { parse } from 'yaml';
import { z } from 'zod';
import type { OpenApiTool } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';
import { createCache, sendToolRequest, type ToolHttp, type ToolRequest } from './http-request.js';
import { ToolError } from './tool.js';

const CACHE_MS = 10 * 60_000;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;
/** Limits the expansion of a document that refers to itself. */
const MAX_DEPTH = 12;
const MAX_DESCRIPTION = 1_000;

const parameter = z.looseObject({
  name: z.string(),
  in: z.enum(['path', 'query', 'header', 'cookie']),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema: z.unknown().optional(),
});
type Parameter = z.output<typeof parameter>;

/** An operation as a tool needs it. */
interface Operation {
  method: ToolRequest['method'];
  /** URL with `{placeholders}`. */
  url: string;
  description: string;
  parameters: Parameter[];
  /** JSON Schema of a JSON body. */
  body: unknown;
  bodyRequired: boolean;
}

/** Operations of APIs as tools. The body of a request is the argument `body`. */
export function createOpenApiTools(http: ToolHttp) {
  const cached = createCache<Operation>(CACHE_MS);
  const operationOf = (tool: OpenApiTool, signal: AbortSignal) =>
    cached(JSON.stringify(tool), () => loadOperation(http, tool, signal));

  return {
    async offer(tool: OpenApiTool, signal: AbortSignal): Promise<Omit<ToolOffer, 'name'>> {
      const { description, parameters, body, bodyRequired } = await operationOf(tool, signal);
      const properties = parameters.map(({ name, schema, description: about }) => [
        name,
        { ...(isObject(schema) ? schema : { type: 'string' }), ...(about === undefined ? {} : { description: about }) },
      ]);
      const required = parameters.filter(isRequired).map(({ name }) => name);
      return {
        description,
        parameters: {
          type: 'object',
          properties: { ...Object.fromEntries(properties), ...(body === undefined ? {} : { body }) },
          required: [...required, ...(bodyRequired ? ['body'] : [])],
          additionalProperties: false,
        },
      };
    },

    async call(tool: OpenApiTool, args: Record<string, unknown>, signal: AbortSignal): Promise<string> {
      const operation = await operationOf(tool, signal);
      const { method, parameters } = operation;
      for (const wanted of parameters) {
        if (isRequired(wanted) && args[wanted.name] === undefined) throw new ToolError(`${wanted.name}: is required`);
      }
      if (operation.bodyRequired && args.body === undefined) throw new ToolError('body: is required');
      const given = parameters.filter(({ name }) => args[name] !== undefined && args[name] !== null);
      const headers = given
        .filter((parameter) => parameter.in === 'header')
        .map(({ name }) => [name, headerText(args[name])]);
      const response = await sendToolRequest(http, {
        method,
        url: urlOf(operation.url, given, args),
        // The headers of crew.yaml win: a model does not replace a credential.
        headers: { ...lowerCase(Object.fromEntries(headers)), ...lowerCase(tool.headers) },
        ...(operation.body === undefined || args.body === undefined ? {} : { body: args.body }),
        repeatable: method === 'GET',
        signal,
      });
      const text = response.body.toString('utf8');
      return text === '' ? `The server responded with ${response.status}.` : text;
    },
  };
}

async function loadOperation(http: ToolHttp, tool: OpenApiTool, signal: AbortSignal): Promise<Operation> {
  const request = { method: 'GET', url: tool.openapi, headers: tool.headers, repeatable: true, signal } as const;
  const { body } = await sendToolRequest(http, request);
  let document: unknown;
  try {
    // YAML includes JSON.
    document = parse(body.toString('utf8'));
  } catch {
    throw new ToolError('The OpenAPI document of the tool cannot be read.');
  }
  const root = isObject(document) ? document : {};
  for (const [path, item] of Object.entries(isObject(root.paths) ? root.paths : {})) {
    if (!isObject(item)) continue;
    for (const method of METHODS) {
      const operation = item[method];
      if (isObject(operation) && operation.operationId === tool.operation) {
        return readOperation(root, tool, path, item, method, operation);
      }
    }
  }
  throw new ToolError(`The OpenAPI document of the tool has no operation "${tool.operation}".`);
}

function readOperation(
  root: Record<string, unknown>,
  tool: OpenApiTool,
  path: string,
  item: Record<string, unknown>,
  method: (typeof METHODS)[number],
  operation: Record<string, unknown>,
): Operation {
  const listed = [item.parameters, operation.parameters].flatMap((list) => (Array.isArray(list) ? list : []));
  const parameters = new Map<string, Parameter>();
  for (const entry of listed) {
    const read = parameter.safeParse(resolve(root, entry));
    // The service keeps no cookies.
    if (read.success && read.data.in !== 'cookie') parameters.set(`${read.data.in} ${read.data.name}`, read.data);
  }
  const requestBody = resolve(root, operation.requestBody);
  const content = isObject(requestBody) && isObject(requestBody.content) ? requestBody.content : {};
  const json = content['application/json'];
  const servers = [operation.servers, item.servers, root.servers].find(Array.isArray) as unknown[] | undefined;
  const [server] = servers ?? [];
  const base = baseUrl(isObject(server) && typeof server.url === 'string' ? server.url : '/', tool.openapi);
  const about = [operation.summary, operation.description].filter((text) => typeof text === 'string').join('\n');
  return {
    method: method.toUpperCase() as ToolRequest['method'],
    url: `${base.href.replace(/\/$/, '')}${path}`,
    description: (about || `${method.toUpperCase()} ${path}`).slice(0, MAX_DESCRIPTION),
    parameters: [...parameters.values()],
    body: isObject(json) ? (json.schema ?? {}) : undefined,
    bodyRequired: isObject(json) && isObject(requestBody) && requestBody.required === true,
  };
}

/** @param server relative to the document */
function baseUrl(server: string, document: string): URL {
  if (URL.canParse(server, document)) return new URL(server, document);
  throw new ToolError('The OpenAPI document of the tool has a server whose URL is not valid.');
}

/** Replaces references within the document by what they refer to. */
function resolve(root: Record<string, unknown>, value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) return {};
  if (Array.isArray(value)) return value.map((entry) => resolve(root, entry, depth + 1));
  if (!isObject(value)) return value;
  if (typeof value.$ref === 'string') return resolve(root, lookUp(root, value.$ref), depth + 1);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, resolve(root, entry, depth + 1)]));
}

/** @param reference a JSON Pointer such as `#/components/schemas/Place` */
function lookUp(root: Record<string, unknown>, reference: string): unknown {
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

function urlOf(template: string, parameters: Parameter[], args: Record<string, unknown>): string {
  let path = template;
  const query = new URLSearchParams();
  for (const { name, in: place } of parameters) {
    const values = (Array.isArray(args[name]) ? (args[name] as unknown[]) : [args[name]]).map(textOf);
    if (place === 'query') for (const value of values) query.append(name, value);
    if (place === 'path') path = path.replaceAll(`{${name}}`, pathSegment(name, values.join(',')));
  }
  return query.size === 0 ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;
}

/** A model must not leave the path of the operation. */
function pathSegment(name: string, value: string): string {
  if (value === '' || value === '.' || value === '..') throw new ToolError(`${name}: is not valid`);
  return encodeURIComponent(value);
}

function headerText(value: unknown): string {
  return textOf(value).replace(/[^\t\x20-\x7e]/g, ' ');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function isRequired({ in: place, required }: Parameter): boolean {
  return place === 'path' || required === true;
}

function lowerCase(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
