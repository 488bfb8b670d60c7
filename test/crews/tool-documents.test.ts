import { describe, expect, test } from '@jest/globals';
import { createOpenApiTools } from '../../activities/crews/openapi-tool.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createToolDocumentReader } from '../../providers/crews/tool-documents/index.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { duringTests } from '../support/during-tests.js';
import { startHttpServer } from '../support/http-server.js';

describe('documents of the servers of tools', () => {
  const signal = new AbortController().signal;
  const address = 'https://tools.example.com/openapi.json';
  const documents = duringTests(createToolDocumentReader);

  const readOpenApi = (text: string) => documents.readOperation({ text, operation: 'op', address }, signal);

  test.each([
    ['JSON', JSON.stringify],
    ['YAML', (document: object) => `# YAML\n${JSON.stringify(document)}`],
  ])('a long OpenAPI document in %s gives the same operation as a short one', async (_, write) => {
    const paths = { '/x': { get: { operationId: 'op', summary: 'Look' } } };
    const long = Object.fromEntries(
      Array.from({ length: 1_000 }, (_entry, n) => [`/${n}`, { get: { summary: 'Other' } }]),
    );
    const expected = {
      method: 'GET',
      url: 'https://tools.example.com/x',
      description: 'Look',
      parameters: [],
      bodyRequired: false,
    };
    expect(await readOpenApi(write({ paths }))).toEqual(expected);
    expect(await readOpenApi(write({ paths: { ...long, ...paths } }))).toEqual(expected);
  });

  test('references that multiply are not followed for ever', async () => {
    const level = (n: number) => {
      return [n, { allOf: Array.from({ length: 40 }, () => ({ $ref: `#/schemas/${n + 1}` })) }];
    };
    const schemas = Object.fromEntries(Array.from({ length: 12 }, (_, n) => level(n)));
    const content = { 'application/json': { schema: { $ref: '#/schemas/0' } } };
    const post = { operationId: 'op', requestBody: { content } };
    await expect(readOpenApi(JSON.stringify({ paths: { '/x': { post } }, schemas }))).rejects.toMatchObject({
      name: 'ToolDocumentError',
      message: 'The operation of the tool is too large to describe.',
    });
  });

  test.each([
    ['nested 2 million deep', '['.repeat(2_000_000)],
    ['nested 1,500 deep, four times', `a: ${'['.repeat(1_500)}\n`.repeat(4)],
    ['nested by its indentation', Array.from({ length: 2_000 }, (_, n) => `${' '.repeat(n)}a:`).join('\n')],
    [
      'with an operation under a name of objects',
      JSON.stringify({ paths: { '/x': { get: { operationId: 'constructor' } } } }),
    ],
  ])('an OpenAPI document %s is rejected', async (_, text) => {
    await expect(readOpenApi(text)).rejects.toMatchObject({ name: 'ToolDocumentError' });
  });
});

describe('an operation with parameters named like functions of objects', () => {
  const requests: string[] = [];
  const parameters = ['constructor', '__proto__'].map((name) => ({ name, in: 'query' }));
  const document = { paths: { '/look': { get: { operationId: 'look', parameters } } } };
  const server = duringTests(() =>
    startHttpServer((request, response) => {
      requests.push(request.url!);
      response.end(JSON.stringify(request.url === '/openapi.json' ? document : 'seen'));
    }),
  );

  test('sends only what the model gave', async () => {
    const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
    const documents = createToolDocumentReader();
    const tools = createOpenApiTools({ outbound, secrets: {} }, documents);
    const tool = { openapi: `${server.url}/openapi.json`, operation: 'look', headers: {} };
    const { signal } = new AbortController();
    expect(await tools.call(tool, {}, signal)).toBe('"seen"');
    expect(await tools.call(tool, JSON.parse('{"__proto__":"a"}'), signal)).toBe('"seen"');
    expect(requests.slice(1)).toEqual(['/look', '/look?__proto__=a']);
    await Promise.all([outbound.close(), documents.close()]);
  });
});
