import { setMaxListeners } from 'node:events';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createMcpTools } from '../../activities/crews/mcp-server.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { duringTests } from '../support/during-tests.js';
import { startHttpServer } from '../support/http-server.js';

type Answer = (
  id: number,
  method: string,
) => { status?: number; headers?: Record<string, string>; body?: string } | null;

describe('tools of an MCP server', () => {
  const requests: { method: string; called: string }[] = [];
  let version: unknown = '2025-06-18';
  let answer: Answer = () => null;
  beforeEach(() => {
    requests.splice(0);
    version = '2025-06-18';
  });
  const server = duringTests(() =>
    startHttpServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { id, method } = JSON.parse(Buffer.concat(chunks).toString() || '{}');
      requests.push({ method: request.method!, called: method });
      if (id === undefined) return response.writeHead(202).end();
      const opened = { protocolVersion: version };
      const given = method === 'initialize' ? { body: JSON.stringify({ id, result: opened }) } : answer(id, method);
      // Without an answer, the request stays open.
      if (given === null) return;
      response.writeHead(given.status ?? 200, { 'content-type': 'application/json', ...given.headers }).end(given.body);
    }),
  );
  const outbound = duringTests(() => createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') }));
  const never = new AbortController().signal;
  setMaxListeners(0, never);
  const at = () => ({ mcp: `${server.url}/mcp`, allow: null, headers: {} });
  const tools = () => createMcpTools({ outbound, secrets: {} });
  const call = (signal = never) => tools().call(at(), 'look', {}, signal);
  const list = () => tools().offers(at(), never);

  const SSE = { 'content-type': 'text/event-stream' };
  const result = (value: object) => (id: number) => ({ body: JSON.stringify({ jsonrpc: '2.0', id, result: value }) });
  const found = (id: number) => result({ content: [{ type: 'text', text: 'found' }] })(id).body;
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 900, method: 'ping' });
  const listed = (text: string) => (id: number) => ({
    body: `{"jsonrpc":"2.0","id":${id},"result":{"tools":[${text}]}}`,
  });
  const deep = `${'{"a":'.repeat(150_000)}1${'}'.repeat(150_000)}`;

  test.each<[string, Answer]>([
    ['in a list', (id) => ({ body: `[${ping},${found(id)}]` })],
    ['in a stream', (id) => ({ headers: SSE, body: `data: ${ping}\r\n\r\n: comment\r\n\r\ndata: ${found(id)}\r\n` })],
  ])('a response is found among requests of the server %s, which are not answered', async (_, given) => {
    answer = given;
    expect(await call()).toBe('found');
    expect(requests).toEqual(
      ['initialize', 'notifications/initialized', 'tools/call'].map((called) => ({ method: 'POST', called })),
    );
  });

  test('a long result arrives whole, and one that is only structured is JSON', async () => {
    answer = result({ content: [{ type: 'text', text: 'x'.repeat(100_000) }] });
    expect(await call()).toHaveLength(100_000);
    answer = result({ structuredContent: { height: 142 } });
    expect(await call()).toBe('{"height":142}');
  });

  test('at most 1,000 tools of a page and ten pages are read', async () => {
    const page = Array.from({ length: 5_000 }, (_, n) => ({ name: `tool-${n}` }));
    answer = result({ tools: page, nextCursor: 'next' });
    expect(await list()).toHaveLength(10_000);
  });

  test.each<[string, Answer, string]>([
    ['an error', (id) => ({ body: JSON.stringify({ id, error: { message: 'No look.' } }) }), 'No look.'],
    ['a failed result', result({ content: [{ type: 'text', text: 'No port.' }], isError: true }), 'No port.'],
    ['a redirect', () => ({ status: 307, headers: { location: 'http://127.0.0.1:1' } }), 'responded with 307'],
    ['another response', () => ({ body: found(900) }), 'sent no response'],
    ['no JSON', () => ({ body: '{' }), 'sent no response'],
    [
      'a stream without a response',
      () => ({ headers: SSE, body: `id: 1\nretry: 1\ndata: ${ping}\n\n` }),
      'no response',
    ],
    ['a list of a million zeros', () => ({ body: `[${'0,'.repeat(999_999)}0]` }), 'too many messages'],
    ['a million events', () => ({ headers: SSE, body: 'data: 0\n\n'.repeat(200_000) }), 'too many messages'],
    ['empty events', () => ({ headers: SSE, body: 'data\n\n'.repeat(300_000) }), 'too many messages'],
    ['carriage returns', () => ({ headers: SSE, body: '\r'.repeat(1_999_999) }), 'sent no response'],
    ['more than 2 MB', () => ({ body: ' '.repeat(3_000_000) }), 'sent too much'],
  ])('a call whose server sends %s fails with its reason', async (_, given, reason) => {
    answer = given;
    await expect(call()).rejects.toMatchObject({ message: expect.stringContaining(reason), name: 'ToolError' });
  });

  test.each([
    ['without their names', '{},'.repeat(600_000)],
    ['that are zeros', '0,'.repeat(900_000)],
    ['nested 150,000 deep', `{"name":"x","inputSchema":{"type":"object","properties":${deep}}},`],
  ])('tools %s are rejected without costing memory, with a short message', async (_, text) => {
    answer = listed(text.slice(0, -1));
    const before = process.memoryUsage().rss;
    const error = await list().catch((reason: Error) => reason);
    expect(error).toMatchObject({ name: 'ToolError', message: expect.stringContaining('cannot be read') });
    expect((error as Error).message.length).toBeLessThan(2_100);
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });

  test('parts that are not text cost nothing, and nothing of them is shown', async () => {
    answer = (id) => ({ body: `{"id":${id},"result":{"content":[${'{},'.repeat(600_000)}0]}}` });
    expect(await call()).toBe('The tool returned no text.');
  });

  test.each([
    ['an unknown version', '1999-01-01'],
    ['no version', undefined],
    ['a list', [0]],
  ])('a server that speaks %s of the protocol is rejected', async (_, spoken) => {
    version = spoken;
    await expect(list()).rejects.toMatchObject({
      name: 'ToolError',
      message: expect.stringContaining('cannot be read'),
    });
  });

  test('a private address is not called', async () => {
    const guarded = createOutboundClient({ allowedCidrs: parseAllowedCidrs('') });
    const offers = createMcpTools({ outbound: guarded, secrets: {} }).offers(at(), never);
    await expect(offers).rejects.toMatchObject({ message: expect.stringContaining('This address is not called') });
    expect(requests).toEqual([]);
    await guarded.close();
  });

  test('a call ends with the reason of its signal', async () => {
    const controller = new AbortController();
    answer = () => {
      controller.abort(new Error('cancelled by a person'));
      return null;
    };
    await expect(call(controller.signal)).rejects.toThrow('cancelled by a person');
    expect(requests.at(-1)).toEqual({ method: 'POST', called: 'tools/call' });
  });

  test('a server that fails for a moment is asked again for its tools, not for a call', async () => {
    answer = () => ({ status: 503 });
    await expect(list()).rejects.toMatchObject({ name: 'ProviderError', retryable: true });
    await expect(call()).rejects.toMatchObject({ name: 'ToolError' });
  });
});
