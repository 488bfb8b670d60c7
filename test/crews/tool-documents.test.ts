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

  const readOpenApi = (text: string) => documents.read('openapi', { text, operation: 'op', address }, signal);
  const read = (text: string, contentType = 'application/json') =>
    documents.read('tools/call', { text, contentType, id: 7 }, signal);
  const answer = (text: string) => JSON.stringify({ id: 7, result: { content: [{ type: 'text', text }] } });

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

  test('a response of an MCP server is found among others, in a list and in a stream', async () => {
    const other = JSON.stringify({ id: 6, result: {} });
    expect(await read(`[${other},${answer('found')}]`)).toEqual({ text: 'found', failed: false });
    const stream = `event: message\r\ndata: ${other}\r\n\r\n: comment\r\n\r\ndata: ${answer('found')}\r\n`;
    expect(await read(stream, 'text/event-stream')).toEqual({ text: 'found', failed: false });
    const long = answer('x'.repeat(100_000));
    expect((await read(long)).text).toHaveLength(100_000);
  });

  test.each([
    [
      'a list of a million zeros',
      'application/json',
      `[${'0,'.repeat(999_999)}0]`,
      'The MCP server sent too many messages.',
    ],
    ['a million empty events', 'text/event-stream', 'data\n\n'.repeat(300_000), 'The MCP server sent no response.'],
    [
      'more than may be returned',
      'application/json',
      answer('x'.repeat(1_500_000)),
      "Reading the response of the tool's server took too much output.",
    ],
  ])('an MCP server that sends %s fails', async (_, contentType, text, message) => {
    await expect(read(text, contentType)).rejects.toMatchObject({ name: 'ToolDocumentError', message });
  });

  test('at most 1,000 tools of a page are read', async () => {
    const tools = Array.from({ length: 5_000 }, (_, n) => ({ name: `tool-${n}` }));
    const text = JSON.stringify({ id: 7, result: { tools } });
    const listed = await documents.read('tools/list', { text, contentType: 'application/json', id: 7 }, signal);
    expect(listed.tools).toHaveLength(1_000);
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
