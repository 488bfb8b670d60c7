import type { OpenApiTool } from '../../domain/crews/crews.js';
import type { ToolOffer } from '../../domain/crews/language-model.js';
import {
  isObject,
  type Operation,
  type Parameter,
  ToolDocumentError,
  type ToolDocumentReader,
} from '../../providers/crews/tool-documents/index.js';
import { createCache, namesSecrets, ownHeaders, sendToolRequest, type ToolHttp } from './http-request.js';
import { ToolError } from './tool.js';

/** Operations of APIs as tools. The body of a request is the argument `body`. */
export function createOpenApiTools(http: ToolHttp, documents: ToolDocumentReader) {
  const cached = createCache<Operation>();
  const operationOf = (tool: OpenApiTool, signal: AbortSignal) =>
    cached(JSON.stringify(tool), () => loadOperation(http, documents, tool, signal));

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
        if (isRequired(wanted) && given(args, wanted.name) === undefined)
          throw new ToolError(`${wanted.name}: is required`);
      }
      if (operation.bodyRequired && args.body === undefined) throw new ToolError('body: is required');
      const present = parameters.filter(({ name }) => given(args, name) !== undefined && args[name] !== null);
      const headers = present
        .filter((parameter) => parameter.in === 'header')
        .map(({ name }) => [name.toLowerCase(), headerText(args[name])]);
      const response = await sendToolRequest(http, {
        method,
        url: urlOf(operation.url, present, args),
        // The headers of crew.yaml win: a model does not replace a credential.
        headers: { ...Object.fromEntries(headers), ...headersFor(http, tool, operation.url) },
        ...(operation.body === undefined || args.body === undefined ? {} : { body: args.body }),
        repeatable: method === 'GET',
        signal,
      });
      const text = response.body.toString('utf8');
      return text === '' ? `The server responded with ${response.status}.` : text;
    },
  };
}

/**
 * The tool's own headers. Its secrets go to the origin that `crew.yaml` names, by default that of the document: a document
 * cannot send them elsewhere.
 * @throws ToolError
 */
function headersFor(http: ToolHttp, tool: OpenApiTool, url: string): Record<string, string> {
  const { origin } = new URL(tool.server ?? tool.openapi);
  if (namesSecrets(tool) && new URL(url).origin !== origin) {
    throw new ToolError(
      `The OpenAPI document of the tool names a server that its secrets are not for. Only ${origin} gets them.`,
    );
  }
  return ownHeaders(tool, http.secrets);
}

/** The document is fetched without the tool's headers: it is public, or at an address that is a secret itself. */
async function loadOperation(
  http: ToolHttp,
  documents: ToolDocumentReader,
  { openapi: address, operation }: OpenApiTool,
  signal: AbortSignal,
): Promise<Operation> {
  const request = { method: 'GET', url: address, headers: {}, repeatable: true, signal } as const;
  const response = await sendToolRequest(http, request);
  const text = response.body.toString('utf8');
  return documents.readOperation({ text, operation, address }, signal).catch((error: unknown) => {
    throw error instanceof ToolDocumentError ? new ToolError(error.message) : error;
  });
}

/** A model may leave an argument out, and a document may name one as objects name their own functions. */
function given(args: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(args, name) ? args[name] : undefined;
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
