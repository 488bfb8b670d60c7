import { beforeAll, describe, expect, test } from '@jest/globals';
import { type KeyKind, SCOPES, type Scope } from '../domain/api-keys.js';
import { createClient } from './support/client.js';
import { expectDocumented } from './support/conformance.js';
import { makeKey, sharedProduct } from './support/product.js';

/** An operation of the document that needs a key. */
interface Operation {
  method: string;
  path: string;
  kind: KeyKind;
  scope: Scope;
}

describe('the scopes of a key', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'scoped';
  let operations: Operation[];

  beforeAll(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is read at several depths
    const { paths } = (await (await fetch(`${apiUrl}/openapi.json`)).json()) as any;
    operations = Object.entries<Record<string, { security: Record<string, Scope[]>[] }>>(paths).flatMap(
      ([path, methods]) =>
        Object.entries(methods).flatMap(([method, { security }]) =>
          security.flatMap((requirement) =>
            // The token of a review link, and that of the operator, have no scopes.
            Object.values(requirement)
              .filter((scopes) => scopes.length > 0)
              .map(([scope]) => ({ method, path, kind: kindFor(method, path), scope: scope! })),
          ),
        ),
    );
  });

  async function keysOf(scopesFor: (scope: Scope) => readonly Scope[]) {
    const keys = new Map<string, string>();
    for (const kind of new Set(operations.map((operation) => operation.kind))) {
      for (const scope of SCOPES) {
        keys.set(`${kind} ${scope}`, (await makeKey(mongodbUri, org, kind, null, scopesFor(scope))).key);
      }
    }
    return ({ kind, scope }: Operation) => keys.get(`${kind} ${scope}`)!;
  }

  /** Sends an empty request, which every operation that changes something rejects. */
  async function send({ method, path, kind }: Operation, key: string) {
    const at = path.replace(/\{\w+\}/g, 'unknown');
    const response = await fetch(apiUrl + at, {
      method: method.toUpperCase(),
      headers: {
        ...(kind.startsWith('payment') ? { 'api-key': key } : { Authorization: `Bearer ${key}` }),
        'API-Version': '2',
        'Content-Type': 'application/json',
      },
      ...(method === 'get' ? {} : { body: '{}' }),
    });
    // A stream of events does not end by itself.
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
    if (isStream) await response.body!.cancel();
    const text = isStream ? '' : await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    if (isJson) await expectDocumented(apiUrl, method, at, response.status, JSON.parse(text));
    return { status: response.status, text };
  }

  test('every operation that needs a key rejects a key without its scope, in the shape of its service', async () => {
    const keyFor = await keysOf((scope) => SCOPES.filter((other) => other !== scope));
    expect(operations.length).toBeGreaterThan(40);
    for (const operation of operations) {
      const { status, text } = await send(operation, keyFor(operation));
      expect([operation, status, text]).toEqual([
        operation,
        403,
        expect.stringContaining(`scope \\"${operation.scope}`),
      ]);
    }
  });

  test('no operation needs another scope than the document names', async () => {
    const keyFor = await keysOf((scope) => [scope]);
    for (const operation of operations) {
      const { status } = await send(operation, keyFor(operation));
      expect([operation, status]).not.toEqual([operation, 403]);
    }
  });

  test('queries and GET read, keys, secrets and the deletion of a registration are for admins, the rest writes', () => {
    const forAdmins = /^\w+ \/keys|^get \/audit$|signing-secret$|^delete \/webhooks\/indexing$/;
    expect(operations.filter(({ path }) => path.startsWith('/keys'))).toHaveLength(4);
    for (const { method, path, scope } of operations) {
      const isForAdmins = forAdmins.test(`${method} ${path}`);
      expect([method, path, scope === 'admin']).toEqual([method, path, isForAdmins]);
      if (isForAdmins) continue;
      if (method === 'get' || path === '/query' || path === '/mcp') expect([path, scope]).toEqual([path, 'read']);
      else expect([path, scope]).not.toEqual([path, 'read']);
    }
  });

  test('a key that may only write registers a webhook, but not its secret', async () => {
    const api = createClient(apiUrl, (await makeKey(mongodbUri, org, 'api', null, ['write'])).key);
    const url = 'http://127.0.0.1:9/hook';
    expect((await api.post('/webhooks/indexing', { url })).status).toBe(200);
    for (const secret of [{ generate_signing_secret: true }, { signing_secret: 'long enough to be a secret' }]) {
      expect((await api.post('/webhooks/indexing', { url, ...secret })).status).toBe(403);
    }
    expect((await api.get('/webhooks/indexing')).status).toBe(403);
  });
});

function kindFor(method: string, path: string): KeyKind {
  if (path.startsWith('/crews')) return 'crew_org';
  if (!path.startsWith('/authentication')) return 'api';
  return method === 'post' && path.endsWith('/eligibility-check') ? 'payment_publishable' : 'payment_secret';
}
