import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { Scope } from '../../domain/api-keys.js';
import { createClient } from '../support/client.js';
import { fetchDocumented } from '../support/conformance.js';
import { eventually } from '../support/eventually.js';
import { startHttpServer } from '../support/http-server.js';
import { makeKey, sharedProduct } from '../support/product.js';

const { apiUrl, mongodbUri } = sharedProduct();
const keyOf = async (org: string, scopes?: Scope[]) => (await makeKey(mongodbUri, org, 'api', null, scopes)).key;

/** Each way in which an assistant connects, with the client of the protocol's authors. */
const CONNECTIONS: Record<string, (key: string) => Promise<Client>> = {
  HTTP: async (key) => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${apiUrl}/mcp`), { requestInit }));
    return client;
  },
  'HTTP, newest protocol': async (key) => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const requestInit = { headers: { Authorization: `Bearer ${key}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${apiUrl}/mcp`), { requestInit }));
    return client;
  },
  'standard input and output': async (key) => {
    const client = new Client({ name: 'test', version: '1' });
    const env = { ...(process.env as Record<string, string>), POSTBACK_URL: apiUrl, POSTBACK_API_KEY: key };
    const args = [join(process.cwd(), 'dist/cli/main.js'), 'mcp'];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, env }));
    return client;
  },
};

/** Calls a tool. @returns its result as JSON, or its error as text */
async function call(client: Client, name: string, args: Record<string, unknown>) {
  const { content, isError } = await client.callTool({ name, arguments: args });
  const [{ text }] = content as unknown as [{ text: string }];
  // biome-ignore lint/suspicious/noExplicitAny: each tool returns something else
  return isError ? { error: text } : (JSON.parse(text) as any);
}

describe.each(Object.entries(CONNECTIONS))('MCP over %s', (name, connect) => {
  const org = `mcp-${name.replace(/\W+/g, '-')}`;
  let client: Client;

  beforeAll(async () => {
    const key = await keyOf(org);
    await createClient(apiUrl, key).createDatabase('notes');
    client = await connect(key);
  });
  afterAll(() => client.close());

  test('an assistant remembers a text and finds it again', async () => {
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name).sort()).toEqual([
      'ingest_url',
      'item_status',
      'list_databases',
      'query',
      'remember',
    ]);
    expect((await call(client, 'list_databases', {})).databases).toMatchObject([
      { database: 'notes', status: 'ready' },
    ]);
    const text = 'The ferry to the island leaves at seven.';
    expect(await call(client, 'remember', { database: 'notes', id: 'ferry', text })).toMatchObject({
      id: 'ferry',
      status: 'queued',
    });
    await eventually('indexed', async () => {
      const status = await call(client, 'item_status', { database: 'notes', id: 'ferry' });
      return status.indexing_status === 'completed';
    });
    const { chunks } = await call(client, 'query', {
      database: 'notes',
      query: 'When does the ferry leave?',
      max_results: 1,
    });
    expect(JSON.stringify(chunks)).toContain(text);
  });

  test('an optional argument that is null is not given', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ inputSchema }) => inputSchema)).toEqual(
      tools.map(() => expect.objectContaining({ type: 'object' })),
    );
    const args = { database: 'notes', query: 'x', collection: null, max_results: null };
    expect(await call(client, 'query', args)).toMatchObject({ chunks: expect.any(Array) });
    expect(await call(client, 'list_databases', { cursor: null })).toMatchObject({ databases: expect.any(Array) });
  });

  test('a required argument that is null, and an argument that a tool does not have, are errors that name it', async () => {
    expect(await call(client, 'query', { database: 'notes', query: null })).toEqual({
      error: expect.stringMatching(/query/),
    });
    const misspelled = { database: 'notes', text: 'Into which collection?', colection: 'private' };
    expect(await call(client, 'remember', misspelled)).toEqual({ error: expect.stringMatching(/colection/) });
  });

  test('errors of the API are errors of the tool', async () => {
    expect(await call(client, 'query', { database: 'nowhere', query: 'x' })).toEqual({
      error: expect.stringMatching(/^DATABASE_NOT_FOUND: .*nowhere.*request req_/),
    });
    expect(await call(client, 'query', { database: 'notes', query: 'x', max_results: 1000 })).toEqual({
      error: expect.stringMatching(/max_results/),
    });
    expect(await call(client, 'remember', { database: 'notes', text: '' })).toEqual({ error: expect.any(String) });
    expect(await call(client, 'ingest_url', { database: 'notes', url: 'http://169.254.169.254/' })).toEqual({
      error: expect.stringMatching(/settings\.urls/),
    });
  });
});

describe('MCP', () => {
  test('a key does what its organisation and its scopes allow', async () => {
    await createClient(apiUrl, await keyOf('mcp-owner')).createDatabase('private');
    const reader = await CONNECTIONS.HTTP!(await keyOf('mcp-owner', ['read']));
    const stranger = await CONNECTIONS.HTTP!(await keyOf('mcp-stranger'));
    expect((await call(reader, 'query', { database: 'private', query: 'x' })).chunks).toEqual([]);
    for (const [tool, args] of [
      ['remember', { text: 'x' }],
      ['ingest_url', { url: 'https://example.com/' }],
    ] as const) {
      const result = await call(reader, tool, { database: 'private', ...args });
      expect(result).toEqual({ error: expect.stringMatching(/^FORBIDDEN: .*"write"/) });
    }
    expect(await call(stranger, 'query', { database: 'private', query: 'x' })).toEqual({
      error: expect.stringMatching(/^DATABASE_NOT_FOUND/),
    });
    expect((await call(stranger, 'list_databases', {})).databases).toEqual([]);
    await Promise.all([reader.close(), stranger.close()]);
  });

  test('requests that are no calls get errors in the form of JSON-RPC', async () => {
    const key = await keyOf('mcp-hostile');
    const send = async (body: string, authorization = `Bearer ${key}`) => {
      const headers = { Authorization: authorization, 'Content-Type': 'application/json' };
      const response = await fetchDocumented(apiUrl, 'POST', '/mcp', { headers, body });
      return [response.status, response.body?.error?.data?.code ?? response.body?.error?.code];
    };
    const rpc = (fields: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, ...fields });
    expect(await send(rpc({ method: 'tools/list' }), 'Bearer pbk_api_unknown-key-of-some-length')).toEqual([
      401,
      'UNAUTHORIZED',
    ]);
    expect(await send('{')).toEqual([400, 'INVALID_PARAMETERS']);
    expect(await send('[]')).toEqual([422, 'VALIDATION_ERROR']);
    expect(await send('{}')).toEqual([400, 'INVALID_PARAMETERS']);
    expect(await send(rpc({ method: 'tools/list', params: { text: 'x'.repeat(1024 * 1024) } }))).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
    ]);
    expect(await send(rpc({ method: 'tools/list', id: 1.5 }))).toEqual([422, 'VALIDATION_ERROR']);
    expect(await send(rpc({ method: 'tools/list', params: null }))).toEqual([200, undefined]);
    expect(await send(rpc({ method: 'nothing/at-all' }))).toEqual([200, -32601]);
    expect(await send(rpc({ method: 'tools/call', params: { name: 'no-tool', arguments: {} } }))).toEqual([
      200, -32602,
    ]);
    expect(await send(rpc({ method: 'tools/call', params: { name: 'query', arguments: { database: 1 } } }))).toEqual([
      200,
      undefined,
    ]);
    expect((await send(rpc({ id: undefined, method: 'notifications/initialized' })))[0]).toBe(202);
    const read = await fetch(`${apiUrl}/mcp`, { headers: { Authorization: `Bearer ${key}` } });
    expect([read.status, read.headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('a page is fetched into a database, and again by the same connector', async () => {
    const page = '<html><body><main><p>The lighthouse was built in 1871.</p></main></body></html>';
    const site = await startHttpServer((request, response) => {
      response.setHeader('content-type', 'text/html');
      if (request.url === '/robots.txt') response.writeHead(404).end();
      else response.end(page);
    });
    const url = `${site.url}/lighthouse`;
    const key = await keyOf('mcp-pages');
    await createClient(apiUrl, key).createDatabase('pages');
    const client = await CONNECTIONS.HTTP!(key);
    const { connector_id } = await call(client, 'ingest_url', { database: 'pages', url });
    await eventually('the page', async () => {
      const { last_sync } = await call(client, 'item_status', { connector_id });
      return last_sync?.status === 'completed' && last_sync.counts.new === 1;
    });
    await eventually('a hit', async () => {
      const { chunks } = await call(client, 'query', { database: 'pages', query: 'When was the lighthouse built?' });
      return JSON.stringify(chunks).includes('1871');
    });
    expect((await call(client, 'ingest_url', { database: 'pages', url })).connector_id).toBe(connector_id);
    await client.close();
    await site.close();
  });
});
