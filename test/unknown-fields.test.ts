import { beforeAll, describe, expect, test } from '@jest/globals';
import { KEY_KINDS } from '../domain/api-keys.js';
import { crewDuringTests } from './support/during-tests.js';
import { makeKey, OPERATOR_TOKEN, sharedProduct } from './support/product.js';

interface Schema {
  $ref?: string;
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  oneOf?: Schema[];
}
interface Operation {
  security?: Record<string, unknown>[];
  requestBody?: { content: Record<string, { schema: Schema; example?: object }> };
  parameters?: { in: string }[];
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

/** Keys by security scheme. */
const KINDS = {
  api_key: 'api',
  crew_key: 'crew_org',
  organisation_key: 'api',
  payment_key: 'payment_secret',
  operator_token: 'operator',
  review_token: 'review',
} as const;
/** Sent by browsers. */
const CHECK = 'POST /authentication/{id}/eligibility-check';
/** JSON-RPC, whose bodies are not ours. */
const FOREIGN = ['/mcp'];

/** Every route of every service, as the API document lists them. */
describe('names that nobody knows, and null', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const keys = new Map<string, string>();
  const crew = crewDuringTests('unknown');
  let document: Document;
  let operations: { method: string; path: string; operation: Operation; schema?: Schema; example?: object }[];
  beforeAll(async () => {
    document = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as Document;
    for (const kind of KEY_KINDS) keys.set(kind, (await makeKey(mongodbUri, 'unknown', kind)).key);
    keys.set('operator', OPERATOR_TOKEN);
    const execution = await crew.start({ customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' });
    const { review_url } = await crew.reaches(execution, 'pending_human_input');
    keys.set('review', new URL(review_url as string).hash.slice(1));
    operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => {
        const { schema, example } = operation.requestBody?.content['application/json'] ?? {};
        return {
          method: method.toUpperCase(),
          path,
          operation,
          ...(schema && { schema }),
          ...(example && { example }),
        };
      }),
    );
  });

  async function send(method: string, path: string, { security = [] }: Operation, body?: object) {
    const scheme = Object.keys(security[0] ?? {})[0] as keyof typeof KINDS | undefined;
    const kind = `${method} ${path}` === CHECK ? 'payment_publishable' : scheme && KINDS[scheme];
    const key = (kind && keys.get(kind)) ?? '';
    const response = await fetch(`${apiUrl}${path.replace(/\{crew\}/, 'support-reply').replace(/\{\w+\}/g, 'x')}`, {
      method,
      headers: {
        ...(scheme?.startsWith('payment') ? { 'api-key': key } : { Authorization: `Bearer ${key}` }),
        'API-Version': '2',
        ...(body && { 'Content-Type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { message?: string; error?: { message?: string } };
    return { status: response.status, message: answer.error?.message ?? answer.message ?? '' };
  }

  const resolved = (schema: Schema): Schema =>
    schema.$ref ? document.components.schemas[schema.$ref.split('/').at(-1)!]! : schema;
  const withBodies = () => operations.filter(({ schema, path }) => schema && !FOREIGN.includes(path));

  test('a field of a JSON body is rejected by its name', async () => {
    expect(withBodies().length).toBeGreaterThan(15);
    for (const { method, path, operation, example } of withBodies()) {
      const { status, message } = await send(method, path, operation, { ...example, colour_of_sky: 1 });
      const expected = /^\/(crews|review)/.test(path) ? 400 : 422;
      expect([method, path, status, message]).toEqual([
        method,
        path,
        expected,
        expect.stringMatching(/^colour_of_sky: is not known; did you mean "\w+"\?$/),
      ]);
    }
  });

  test('a large JSON body is an error of the client, with or without a key', async () => {
    const large = 'x'.repeat(200_000);
    for (const { method, path, operation, example } of withBodies()) {
      for (const each of [operation, {}]) {
        const { status } = await send(method, path, each, { ...example, colour_of_sky: large });
        expect([method, path, Math.floor(status / 100)]).toEqual([method, path, 4]);
      }
    }
  });

  test('null for an optional field of a JSON body is not given', async () => {
    let checked = 0;
    for (const { method, path, operation, schema, example } of withBodies()) {
      const { properties = {}, required = [] } = resolved(schema!);
      const optional = Object.keys(properties).filter((name) => !required.includes(name));
      for (const name of optional) {
        const { status, message } = await send(method, path, operation, { ...example, [name]: null });
        const isRejected =
          (status === 400 || status === 422) && message.startsWith(`${name}:`) && !/required$/.test(message);
        expect([method, path, name, isRejected && message]).toEqual([method, path, name, false]);
        checked += 1;
      }
    }
    expect(checked).toBeGreaterThan(40);
  });

  test('a parameter of a query is rejected by its name', async () => {
    for (const { method, path, operation } of operations.filter(({ method }) => method === 'GET')) {
      if (/^\/(docs|console|metrics)/.test(path)) continue;
      const { status, message } = await send(method, `${path}?colour_of_sky=1`, operation);
      expect([path, status, message]).toEqual([path, 400, expect.stringMatching(/^colour_of_sky: is not known/)]);
    }
  });
});
