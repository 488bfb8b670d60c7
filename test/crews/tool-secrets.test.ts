import type { IncomingHttpHeaders } from 'node:http';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMcpTools } from '../../activities/crews/mcp-server.js';
import { createOpenApiTools } from '../../activities/crews/openapi-tool.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createToolDocumentReader } from '../../providers/crews/tool-documents/index.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { duringTests } from '../support/during-tests.js';
import { startHttpServer } from '../support/http-server.js';

/** How a text of a server or a model would name a secret. */
const NAMED = ['$', '{CRM_KEY}'].join('');

describe('the secrets of tools', () => {
  const { signal } = new AbortController();
  const requests: { path: string; headers: IncomingHttpHeaders }[] = [];
  let document: object = {};
  let version = '2025-06-18';
  beforeEach(() => void requests.splice(0));
  const listen = () =>
    startHttpServer((request, response) => {
      requests.push({ path: request.url!, headers: request.headers });
      if (request.url === '/openapi.json') return response.end(JSON.stringify(document));
      if (request.url !== '/mcp') return response.end('seen');
      const chunks: Buffer[] = [];
      request.on('data', (chunk) => chunks.push(chunk));
      request.on('end', () => {
        const { id, method } = JSON.parse(Buffer.concat(chunks).toString());
        const result = method === 'initialize' ? { protocolVersion: version } : { tools: [] };
        response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': NAMED });
        response.end(JSON.stringify({ id, result }));
      });
    });
  const server = duringTests(listen);
  const other = duringTests(listen);
  const outbound = duringTests(() => createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') }));
  const documents = duringTests(createToolDocumentReader);
  const http = () => ({ outbound, secrets: { TOWER_KEY: 'of the tower', CRM_KEY: 'of the CRM' } });
  const headers = { Authorization: ['Bearer $', '{TOWER_KEY}'].join('') };
  const openApiTool = () => ({ openapi: `${server.url}/openapi.json`, operation: 'look', headers });
  const operations = (more: object = {}) => ({
    paths: { '/look': { get: { operationId: 'look', parameters: [{ name: 'X-Note', in: 'header' }] } } },
    ...more,
  });

  test('are not read from what an MCP server says', async () => {
    const tool = { mcp: `${server.url}/mcp`, allow: null, headers };
    await createMcpTools(http()).offers(tool, signal);
    expect(requests.at(-1)!.headers).toMatchObject({ authorization: 'Bearer of the tower', 'mcp-session-id': NAMED });
    version = NAMED;
    const offers = createMcpTools(http()).offers(tool, signal);
    await expect(offers).rejects.toThrow(`protocol version is not supported: ${NAMED}`);
    expect(JSON.stringify(requests)).not.toContain('of the CRM');
  });

  test('are not read from what a model says', async () => {
    document = operations();
    await createOpenApiTools(http(), documents).call(openApiTool(), { 'X-Note': NAMED }, signal);
    expect(requests.at(-1)!.headers).toMatchObject({ 'x-note': NAMED, authorization: 'Bearer of the tower' });
  });

  test('are not sent with the request for the document', async () => {
    document = operations();
    await createOpenApiTools(http(), documents).call(openApiTool(), {}, signal);
    expect(requests.map(({ path, headers: sent }) => [path, sent.authorization])).toEqual([
      ['/openapi.json', undefined],
      ['/look', 'Bearer of the tower'],
    ]);
  });

  test('do not go to a server that only the document names', async () => {
    document = operations({ servers: [{ url: other.url }] });
    const tools = createOpenApiTools(http(), documents);
    await expect(tools.call(openApiTool(), {}, signal)).rejects.toMatchObject({ name: 'ToolError' });
    expect(requests.map(({ path }) => path)).toEqual(['/openapi.json']);
    await tools.call({ ...openApiTool(), server: other.url }, {}, signal);
    expect(requests.at(-1)).toMatchObject({ path: '/look', headers: { authorization: 'Bearer of the tower' } });
    // Without secrets, the document decides.
    await tools.call({ ...openApiTool(), headers: { 'X-Client': 'crew' } }, {}, signal);
    expect(requests.at(-1)).toMatchObject({ path: '/look', headers: { 'x-client': 'crew' } });
  });
});
