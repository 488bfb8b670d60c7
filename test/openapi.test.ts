import { beforeAll, describe, expect, test } from '@jest/globals';
import Router from '@koa/router';
import { Validator } from '@seriousme/openapi-schema-validator';
import { z } from 'zod';
import { createServices } from '../api/app.js';
import { plainEnvelope } from '../api/envelope.js';
import { renameAllFields } from '../api/field-names.js';
import { createHttpMetrics } from '../api/metrics.js';
import { openApiDocument } from '../api/openapi.js';
import { operations } from '../api/operation.js';
import type { RequestState } from '../api/request-context.js';
import { listRoutes, routesOf, type Service } from '../api/service.js';
import { ERROR_STATUS } from '../domain/errors.js';
import { CALLBACK_EVENTS } from '../domain/webhooks/events.js';
import { createChecker, createSchemaChecker } from './support/conformance.js';
import { clientOf } from './support/organisation.js';
import { sharedProduct } from './support/product.js';

// biome-ignore lint/suspicious/noExplicitAny: tests read the document at many depths
type Document = any;

/** Routes that are not for API clients: the documentation itself and the metrics. */
const UNDOCUMENTED = [/^\/$/, /^\/openapi\.json$/, /^\/metrics$/, /^\/docs/, /^\/console/, /^\/review(\/page\.\w+)?$/];

describe('/openapi.json', () => {
  const { apiUrl } = sharedProduct();
  let document: Document;

  beforeAll(async () => {
    document = await (await fetch(`${apiUrl}/openapi.json`)).json();
  });

  // Listing the routes needs none of their dependencies.
  const services = () =>
    createServices({ rateLimits: {} } as Parameters<typeof createServices>[0], createHttpMetrics());
  const documentedRoutes = (document: Document) =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods as object).map((method) => `${method} ${path}`),
    );
  const registeredRoutes = (services: readonly Service[]) =>
    services.flatMap((service) => listRoutes(service)).map(({ method, path }) => ({ method, path }));

  test('is valid OpenAPI 3.1, including all references', async () => {
    const validator = new Validator();
    const result = await validator.validate(document);
    expect(result).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    const broken = structuredClone(document);
    delete broken.paths['/databases'].post.responses;
    broken.paths['/databases'].post.parameters = 'none';
    expect((await new Validator().validate(broken)).valid).toBe(false);
  });

  test('has every route of every service', () => {
    const registered = registeredRoutes(services())
      .filter(({ path }) => !UNDOCUMENTED.some((pattern) => pattern.test(path)))
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, '{$1}')}`);
    expect(registered.length).toBeGreaterThan(12);
    expect(documentedRoutes(document).sort()).toEqual(registered.sort());
  });

  test('does not list a route without a declaration, so the previous test finds it', () => {
    const router = new Router<RequestState>();
    router.get('/undeclared', (ctx) => {
      ctx.body = {};
    });
    router.get(
      '/things/:thing',
      operations('Things', plainEnvelope)(
        { summary: 'Get a thing', status: 200, response: z.object({}) },
        () => undefined,
      ),
    );
    const service = { ...services()[0]!, middleware: [routesOf(router)] };
    expect(registeredRoutes([service]).map(({ path }) => path)).toEqual(['/undeclared', '/things/:thing']);
    expect(documentedRoutes(openApiDocument([service]))).toEqual(['get /things/{thing}']);
  });

  test('has a unique id for every operation, and lists the codes of each status', () => {
    const found = Object.values<Document>(document.paths).flatMap((methods) => Object.values<Document>(methods));
    expect(new Set(found.map((operation) => operation.operationId)).size).toBe(found.length);
    for (const operation of found.filter(({ security }) => security.length > 0)) {
      for (const [status, response] of Object.entries<Document>(operation.responses).filter(([at]) => at >= '400')) {
        const codes = [...response.description.matchAll(/`(\w+)`/g)].map(
          (match) => match[1] as keyof typeof ERROR_STATUS,
        );
        expect(codes.length).toBeGreaterThan(0);
        // One route uses INTERNAL_ERROR with several statuses (specification, "Errors").
        const withAnyStatus = /^addFieldsToMetadataSchema/.test(operation.operationId) ? ['INTERNAL_ERROR'] : [];
        for (const code of codes.filter((each) => !withAnyStatus.includes(each))) {
          expect([code, ERROR_STATUS[code]]).toEqual([code, Number(status)]);
        }
      }
    }
  });

  test('names the schemas of all JSON bodies and responses, and operations by what they do', () => {
    const found = Object.values<Document>(document.paths).flatMap((methods) => Object.values<Document>(methods));
    const schemas = found.flatMap(({ requestBody, responses }) => [
      requestBody?.content['application/json']?.schema,
      ...['200', '201', '202'].map((status) => responses[status]?.content?.['application/json']?.schema),
    ]);
    for (const schema of schemas.filter((each) => each !== undefined)) {
      expect(schema).toEqual({ $ref: expect.stringMatching(/^#\/components\/schemas\/[A-Z][A-Za-z]+$/) });
    }
    const { schemas: components } = document.components;
    for (const record of ['Item', 'Delivery', 'Database', 'Connector', 'Job', 'CrewExecution', 'Authentication']) {
      expect([record, components[record]?.type]).toEqual([record, 'object']);
    }
    expect(document.paths['/webhooks/indexing/deliveries/{delivery_id}'].get.operationId).toBe('getDelivery');
  });

  test('has no patterns with classes that only some tools know', () => {
    const patterns = JSON.stringify(document).match(/"pattern":"(?:[^"\\]|\\.)*"/g) ?? [];
    expect(patterns.length).toBeGreaterThan(0);
    for (const pattern of patterns) expect(pattern).not.toMatch(/\\\\p\{/i);
  });

  test('has no schemas of which generators make clients that do not compile', () => {
    const problemsOf = (part: Document, path = ''): string[] => {
      if (typeof part !== 'object' || part === null) return [];
      const isObject = part.type !== undefined && part.properties !== undefined;
      const found = [
        ...(isObject && (part.anyOf ?? part.oneOf ?? part.allOf ?? part.not) ? ['alternatives beside fields'] : []),
        ...(part.const !== undefined && part.const !== null ? ['a constant'] : []),
        ...(typeof part.default === 'object' && !isFields(path) ? ['a default that is no plain value'] : []),
        ...(part.format === 'binary' && part.minLength !== undefined ? ['the length of a file'] : []),
      ].map((problem) => `${path}: ${problem}`);
      const parts = Object.entries(part).filter(([key]) => !/^(if|else|not|enum|example|examples|x-.*)$/.test(key));
      return [...found, ...parts.flatMap(([key, value]) => problemsOf(value, `${path}/${key}`))];
    };
    const isFields = (path: string) => path.endsWith('/properties');
    expect(problemsOf(document)).toEqual([]);
    expect(problemsOf({ a: { type: 'object', properties: {}, anyOf: [{ required: ['b'] }] } })).toEqual([
      '/a: alternatives beside fields',
    ]);

    const { CreateConnectorRequest } = document.components.schemas;
    expect(CreateConnectorRequest.oneOf.every((option: Document) => option.$ref)).toBe(true);
    const paths = Object.values<Document>(document.paths).flatMap((methods) => Object.values<Document>(methods));
    const tags = new Set(paths.flatMap((operation) => operation.tags));
    for (const { post } of Object.values<Document>(document.webhooks)) {
      const { $ref } = post.requestBody.content['application/json'].schema;
      const body = document.components.schemas[$ref.split('/').at(-1)];
      // A callback may gain fields.
      expect(body.additionalProperties).toBeUndefined();
      for (const tag of post.tags) expect(tags).not.toContain(tag);
    }
  });

  test('has a valid example of each JSON body', () => {
    const found = services()
      .flatMap((service) => listRoutes(service))
      .filter(({ declared }) => declared?.operation.body)
      .map(({ method, path, declared }) => ({ route: `${method} ${path}`, ...declared!.operation }));
    expect(found.length).toBeGreaterThan(15);
    for (const { route, body, example, deprecated } of found) {
      expect([route, body!.safeParse(example).error?.issues]).toEqual([route, undefined]);
      const [method, path] = route.replace(/:(\w+)/g, '{$1}').split(' ') as [string, string];
      expect(document.paths[path][method].requestBody.content['application/json'].example).toEqual(
        deprecated ? renameAllFields(example, deprecated.fields) : example,
      );
    }
  });

  test('lets optional fields of JSON be null, except where a condition requires them', () => {
    const matches = createSchemaChecker(document);
    const at =
      (method: string, path: string, type = 'application/json') =>
      (body: object) =>
        matches(['paths', path, method, 'requestBody', 'content', type, 'schema'], body);
    const database = at('post', '/databases');
    const withField = (field: object) =>
      database({ database: 'd', database_metadata_schema: [{ name: 'f', ...field }] });
    expect(database({ database: 'd', database_metadata_schema: null })).toBe(true);
    expect(database({ database: null })).toBe(false);
    expect(withField({ data_type: 'BOOL', enable_match: null, max_length: null })).toBe(true);
    expect(withField({ data_type: 'BOOL', max_length: 5 })).toBe(false);
    const change = at('patch', '/context/{id}');
    expect(change({ database: 'd', metadata: {}, additional_metadata: null })).toBe(true);
    expect(change({ database: 'd', metadata: null })).toBe(false);
    const secret = at('post', '/webhooks/indexing/signing-secret');
    const own = 'sixteen characters';
    expect(secret({ signing_secret: own, generate_signing_secret: null })).toBe(true);
    expect(secret({ signing_secret: own, generate_signing_secret: true })).toBe(false);
    const decision = at('post', '/review/decision');
    expect(decision({ is_approve: true, human_feedback: null })).toBe(true);
    expect(decision({ is_approve: false, human_feedback: null })).toBe(false);
    const form = at('post', '/context/ingest', 'multipart/form-data');
    expect(form({ database: 'd', memories: [{ text: 'A note.', id: null }] })).toBe(true);
    expect(form({ database: 'd', memories: [{ text: 'A note.' }], collection: null })).toBe(false);
    const check = at('post', '/authentication/{id}/eligibility-check');
    const checked = (click_to_pay: object) => check({ client_secret: 's', eligibility_check_data: { click_to_pay } });
    expect(checked({ network_a: null, network_b: { consumerPresent: true } })).toBe(true);
    expect(checked({ network_a: null })).toBe(false);
    expect(checked({})).toBe(false);
    const texts = at('post', '/context/ingest');
    expect(texts({ database: 'd', memories: [{ text: 'A note.', user_assistant_pairs: null }] })).toBe(true);
    expect(texts({ database: 'd', memories: [{ text: null, user_assistant_pairs: null }] })).toBe(false);
    expect(texts({ database: 'd', memories: null, app_knowledge: null })).toBe(false);
  });

  test('lists the routes that take an Idempotency-Key, and describes all webhooks', () => {
    const idempotent = Object.entries<Document>(document.paths).filter(([, { post }]) =>
      post?.parameters.some(({ name }: { name: string }) => name === 'Idempotency-Key'),
    );
    expect(idempotent.map(([path]) => path).sort()).toEqual([
      '/authentication',
      '/connectors',
      '/connectors/{connector_id}/sync',
      '/context/ingest',
      '/crews/{crew}/callbacks/{delivery_id}/retry',
      '/crews/{crew}/kickoff',
      '/crews/{crew}/resume',
      '/databases',
      '/deliveries/{delivery_id}/retry',
      '/feedback',
      '/tenants',
      '/v3/ai/async',
      '/v3/ai/callbacks/{delivery_id}/retry',
      '/v3/upload',
      '/webhooks/indexing/deliveries/retry',
      '/webhooks/indexing/deliveries/{delivery_id}/retry',
    ]);
    expect(Object.keys(document.webhooks).sort()).toEqual([...CALLBACK_EVENTS].sort());
    for (const { post } of Object.values<Document>(document.webhooks)) {
      const { schema } = post.requestBody.content['application/json'];
      const { $ref } = schema;
      const body = $ref === undefined ? schema : document.components.schemas[$ref.split('/').at(-1)];
      expect(body.required).toContain('event');
    }
  });

  test('matches the responses: the test client rejects undocumented responses', async () => {
    const check = createChecker(document);
    const api = await clientOf('documented');
    const { body } = await api.get('/webhooks/indexing');
    check('get', '/webhooks/indexing', 200, body);
    const checkWith = (change: object) => () => check('get', '/webhooks/indexing', 200, { ...body, ...change });
    expect(checkWith({ extra: 1 })).toThrow(/must NOT have additional properties/);
    expect(checkWith({ data: { ...body.data, url: 17 } })).toThrow(/url/);
    expect(checkWith({ data: { ...body.data, registered: undefined } })).toThrow(/registered/);
    expect(() => check('get', '/webhooks/indexing', 409, body)).toThrow(/409 is not documented/);
    const undocumented = { ...body, success: false, data: null, error: { code: 'NEW_CODE', message: 'x' } };
    expect(() => check('get', '/webhooks/indexing', 401, undocumented)).toThrow(/code/);
  });

  describe('says which requests are accepted', () => {
    const job = (model: string, input: object) => ['post', '/v3/ai/async', { model, input }] as const;
    const remove = (ids: unknown) => ['delete', '/context', { database: 'described', ids }] as const;
    const key = (change: object) =>
      ['post', '/keys', { kind: 'api', label: 'described', scopes: ['read'], ...change }] as const;
    const query = (collections: object) =>
      ['post', '/query', { database: 'described', query: 'x', collections }] as const;
    const connector = (url: string) =>
      ['post', '/connectors', { kind: 'web', database: 'described', settings: { urls: [url] } }] as const;
    const text = 'Die Bibliothek öffnet um neun Uhr.';
    const keywords = 'text/keyword_extraction/wink';

    test.each<[what: string, accepted: boolean, request: readonly [string, string, object]]>([
      ['a job of an available model', true, job('text/language_detection/eld', { text })],
      ['a job of an unknown model', false, job('text/language_detection/nobody', { text })],
      ['a job without its text', false, job('text/language_detection/eld', {})],
      ['a job with the input of another subfeature', false, job('text/language_detection/eld', { text, sentences: 2 })],
      ['a setting beside the text', true, job(keywords, { text, max_keywords: 3 })],
      ['a setting in settings', true, job(keywords, { text, settings: { max_keywords: 3 } })],
      ['a setting in both', false, job(keywords, { text, max_keywords: 3, settings: { max_keywords: 3 } })],
      ['an unknown setting', false, job(keywords, { text, settings: { sentences: 3 } })],
      ['ids to delete, of which some are unknown', true, remove(['described', 'unknown'])],
      ['ids to delete that are an empty text', false, remove('')],
      ['ids to delete that are commas', false, remove(',,')],
      ['an empty list of ids to delete', false, remove([])],
      ['a key with a label of 100 characters', true, key({ label: 'x'.repeat(100) })],
      ['a key with a label of spaces', false, key({ label: '  ' })],
      ['a key with a label of 100 characters and a space', false, key({ label: `${'x'.repeat(100)} ` })],
      ['a key of a user for a crew', true, key({ kind: 'crew_user', crews: ['support-reply'] })],
      ['a key of another kind for a crew', false, key({ crews: ['support-reply'] })],
      ['a key of another kind without crews', true, key({ crews: null })],
      ['a query without any weight', false, query({})],
      [
        'a query with too many weights',
        false,
        query(Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`c${n}`, 1]))),
      ],
      ['a connector to an address of another scheme', false, connector('ftp://example.com/')],
    ])('%s: %p', async (_what, accepted, [method, path, body]) => {
      const api = await clientOf('described');
      if (path === '/context' && accepted) {
        await api.createDatabase('described');
        await api.ingest({ database: 'described', memories: JSON.stringify([{ id: 'described', text }]) });
      }
      const { status } = await api.request(method.toUpperCase(), path, { json: body });
      const matches = createSchemaChecker(document);
      const schema = ['paths', path, method, 'requestBody', 'content', 'application/json', 'schema'];
      expect([matches(schema, body), status < 300]).toEqual([accepted, accepted]);
    });

    test('the lists of an ingest are JSON, and have what they need', async () => {
      const api = await clientOf('described-forms');
      await api.createDatabase('described');
      const matches = createSchemaChecker(document);
      const schema = ['paths', '/context/ingest', 'post', 'requestBody', 'content', 'multipart/form-data', 'schema'];
      const cases: [object, boolean][] = [
        [{ memories: [{ text }] }, true],
        [{ memories: [{ user_assistant_pairs: [{ user: text, assistant: '' }] }] }, true],
        [{ memories: [{ user_assistant_pairs: [{ user: ' ', assistant: '' }] }] }, false],
        [{ memories: [{ text: '\u2028 \ufeff' }] }, false],
        [{ app_knowledge: [{ title: 'No text' }] }, false],
        [{ app_knowledge: [{ text: '', content: text }] }, true],
        [{ app_knowledge: [] }, false],
        [{ app_knowledge: [], memories: [{ text }] }, true],
        [{}, false],
      ];
      for (const [lists, accepted] of cases) {
        const fields = Object.entries(lists).map(([name, list]) => [name, JSON.stringify(list)]);
        const { status } = await api.ingest({ database: 'described', ...Object.fromEntries(fields) });
        const matched = matches(schema, { database: 'described', ...lists });
        expect([lists, matched, status < 300]).toEqual([lists, accepted, accepted]);
      }
    });
  });

  test('needs no key', async () => {
    const response = await fetch(`${apiUrl}/openapi.json`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(await response.json()).toEqual(document);
  });
});
