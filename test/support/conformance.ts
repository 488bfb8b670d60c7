import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

const checkers = new Map<string, Promise<ReturnType<typeof createChecker>>>();

/**
 * Holds an answer against `/openapi.json`: its status must be documented for the route, and its body must be what is
 * documented, without any field more. What is under no documented path is not judged.
 * @throws Error that names the route and what is wrong
 */
export async function expectDocumented(apiUrl: string, method: string, path: string, status: number, body: unknown) {
  let checker = checkers.get(apiUrl);
  if (!checker) {
    checker = fetch(`${apiUrl}/openapi.json`).then(async (response) =>
      createChecker((await response.json()) as Document),
    );
    checkers.set(apiUrl, checker);
  }
  (await checker)(method.toLowerCase(), new URL(path, apiUrl).pathname, status, body);
}

/** @returns a function that judges one answer */
export function createChecker(document: Document) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, verbose: true });
  formats.default(ajv);
  ajv.addSchema(closed(document), 'openapi');
  const routes = Object.entries(document.paths).map(([path, operations]) => ({
    path,
    operations,
    pattern: new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}/?$`),
  }));
  const validators = new Map<string, ValidateFunction>();

  return (method: string, path: string, status: number, body: unknown): void => {
    // A path without parameters is meant rather than one with.
    const route = routes
      .filter(({ pattern, operations }) => pattern.test(path) && operations[method])
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length)[0];
    if (!route) return;
    const what = `${method.toUpperCase()} ${route.path} ${status}`;
    if (!route.operations[method]!.responses[status]) throw new Error(`${what} is not documented`);
    const pointer = ['paths', route.path, method, 'responses', String(status), 'content', 'application/json', 'schema'];
    const $ref = `openapi#/${pointer.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/')}`;
    const validate = validators.get($ref) ?? ajv.compile({ $ref });
    validators.set($ref, validate);
    if (!validate(body)) throw new Error(`${what} is not as documented: ${ajv.errorsText(validate.errors)}`);
  };
}

/** Clients must bear new fields; but what the product answers today should all be documented. */
function closed(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    typeof value?.properties === 'object' && value.type === 'object' && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  );
}
