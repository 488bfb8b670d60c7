import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { sharedProduct } from './product.js';

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, { content?: object }> }>>;
}

type Checker = ReturnType<typeof createChecker>;

const checkers = new Map<string, Promise<Checker>>();

/**
 * Validates a response against `/openapi.json`: the status must be documented for the route, and the body must match its
 * schema without additional fields. Responses of undocumented paths are ignored.
 * @throws Error that names the route and the violation
 */
export async function expectDocumented(apiUrl: string, method: string, path: string, status: number, body: unknown) {
  // Products of a test run are of the same release. Making the document costs a product a second of CPU.
  const documentUrl = `${process.env.POSTBACK_TEST_PRODUCT ? sharedProduct().apiUrl : apiUrl}/openapi.json`;
  let checker = checkers.get(documentUrl);
  if (!checker) {
    checker = fetch(documentUrl).then(async (response) => createChecker((await response.json()) as Document));
    checkers.set(documentUrl, checker);
  }
  (await checker)(method.toLowerCase(), new URL(path, apiUrl).pathname, status, body);
}

/**
 * Sends a request and validates its response.
 * @returns the response; its body as JSON, or null without JSON
 */
export async function fetchDocumented(
  apiUrl: string,
  method: string,
  path: string,
  {
    headers: sent,
    body,
  }: { headers: Record<string, string>; body?: string | FormData | Buffer<ArrayBuffer> | undefined },
) {
  const response = await fetch(apiUrl + path, { method, headers: sent, body });
  const { status, headers } = response;
  const text = await response.text();
  const isJson = headers.get('content-type')?.startsWith('application/json') ?? false;
  const parsed = isJson ? JSON.parse(text) : null;
  if (isJson || text === '') await expectDocumented(apiUrl, method, path, status, parsed);
  return { status, headers, text, body: parsed };
}

/** @returns a function that validates one response */
export function createChecker(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true, code: { optimize: false } });
  formats.default(ajv);
  ajv.addSchema(closed(document), 'openapi');
  // Paths without parameters take precedence.
  const routes = Object.entries(document.paths)
    .map(([path, operations]) => ({
      path,
      operations,
      pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`),
    }))
    .sort((a, b) => a.path.split('{').length - b.path.split('{').length);
  const validators = new Map<string, ValidateFunction>();

  return (method: string, path: string, status: number, body: unknown): void => {
    const route = routes.find(({ pattern, operations }) => operations[method] && pattern.test(path));
    if (!route) return;
    const label = `${method.toUpperCase()} ${route.path} ${status}`;
    if (!route.operations[method]!.responses[status]) throw new Error(`${label} is not documented`);
    if (!route.operations[method]!.responses[status]!.content) {
      if (body !== null) throw new Error(`${label} must have no body`);
      return;
    }
    const pointer = ['paths', route.path, method, 'responses', String(status), 'content', 'application/json', 'schema'];
    const $ref = `openapi#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    const validate = validators.get($ref) ?? ajv.compile({ $ref });
    validators.set($ref, validate);
    if (!validate(body)) throw new Error(`${label} is not as documented: ${ajv.errorsText(validate.errors)}`);
  };
}

/**
 * @returns a function that says whether a value matches a part of the document
 * @param path of keys to a schema of the document
 */
export function createSchemaChecker(document: object): (path: readonly string[], value: unknown) => boolean {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'openapi');
  return (path, value) => {
    const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
    return ajv.validate({ $ref: `openapi#/${pointer}` }, value);
  };
}

/** Rejects additional fields: clients must tolerate new fields, but every current field must be documented. */
function closed(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    typeof value?.properties === 'object' && value.type === 'object' && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  );
}
