/**
 * Fetches from every odd server on every road that has a client of its own, with a slow reader where there is one. A process
 * of its own, because what is tested is that it does not end. Prints how the requests have ended, by road.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createMcpTools } from '../../activities/crews/mcp-server.js';
import { createOpenApiTools } from '../../activities/crews/openapi-tool.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import type { WebSettings } from '../../domain/connectors/connectors.js';
import { speechToText } from '../../providers/ai-jobs/openai/files.js';
import { createForeignParser, createSources } from '../../providers/connectors/index.js';
import { createToolDocumentReader } from '../../providers/crews/tool-documents/index.js';
import { createOpenAiEmbedder } from '../../providers/embeddings/openai.js';
import { createOpenAiClient } from '../../providers/openai/client.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { createReranker } from '../../providers/reranking/index.js';
import { startOddServers } from './odd-answers.js';

const TIMEOUT_MS = 1_500;
const MAX_BYTES = 400_000;
const folder = mkdtempSync(join(tmpdir(), 'postback-odd-'));
const outbound = createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') });
const parser = createForeignParser();
const documents = createToolDocumentReader();
const sources = createSources(outbound, { timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES }, parser);
const servers = await startOddServers();
const limit = () => AbortSignal.timeout(4 * TIMEOUT_MS);
const http = { outbound, secrets: {} };

/** Reads slower than servers send, so that responses wait while their connections end. */
const slowReader = () =>
  new Writable({ highWaterMark: 1, write: (_piece, _encoding, done) => void setTimeout(done, 30) });
const post = (url: string, rest: object) =>
  outbound.send({ method: 'POST', url, headers: {}, body: Buffer.from('{}'), timeoutMs: TIMEOUT_MS, ...rest } as never);
const web = (url: string, settings: Partial<WebSettings>) =>
  sources(
    {
      kind: 'web',
      settings: { follow_links: false, max_depth: 1, max_pages: 2, urls: [url], ...settings } as WebSettings,
      credentials: null,
    },
    folder,
  ).list(null, {}, limit());
const tool = (url: string) => ({ mcp: `${url}/mcp`, allow: null, headers: {} }) as never;
const operation = (url: string) => ({ openapi: `${url}/openapi.json`, operation: 'op', headers: {} }) as never;
const client = (url: string) =>
  createOpenAiClient({ baseUrl: url, timeoutMs: TIMEOUT_MS, maxResponseBytes: MAX_BYTES });

const ROADS: Record<string, (url: string) => Promise<unknown>> = {
  'a delivery': (url) => post(url, { maxResponseBytes: 1_024, excerpt: true }),
  'a request of a tool': (url) => post(url, { maxResponseBytes: MAX_BYTES }),
  'a file by its URL': (url) =>
    outbound.download({ url, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, to: slowReader() } as never),
  'a page': (url) => web(url, {}),
  'a sitemap': (url) => web(url, { urls: [], sitemap: `${url}/sitemap.xml` }),
  'a feed': (url) =>
    sources({ kind: 'feed', settings: { url, remove_dropped: false }, credentials: null }, folder).list(
      null,
      {},
      limit(),
    ),
  'a bucket': (url) =>
    sources(
      {
        kind: 's3',
        settings: { endpoint: url, region: 'us-east-1', bucket: 'bucket', prefix: '', path_style: true },
        credentials: null,
      },
      folder,
    ).list(null, {}, limit()),
  'an MCP server': (url) => createMcpTools(http).offers(tool(url), limit()),
  'an OpenAPI document': (url) => createOpenApiTools(http, documents).offer(operation(url), limit()),
  'a language model': (url) => client(url).post('/chat/completions', { messages: [] }, limit()),
  'a speech model': (url) =>
    speechToText(MAX_BYTES)(
      { file: { kind: 'audio', path: process.argv[1], filename: 'a.wav', mime_type: 'audio/wav', size: 1 } } as never,
      { client: client(url), model: 'm', signal: limit() } as never,
    ),
  embeddings: (url) =>
    createOpenAiEmbedder({ baseUrl: url, model: 'm', dimensions: 3, timeoutMs: TIMEOUT_MS }).embedDocuments(['text']),
  'a reranker': (url) =>
    createReranker(
      { baseUrl: url, model: 'm', timeoutMs: TIMEOUT_MS },
      { meterOf: () => ({ admit: async () => {}, count: async () => {} }), log: { warn() {} } },
    ).rank('query', ['text', 'other'], 'org'),
};

// Alone first: in a busy process these servers' ends are read later, and meet no pause of the reader.
for (const { name, url } of servers.urls) {
  if (name.startsWith('ends while')) await ROADS['a file by its URL']!(url).catch(() => undefined);
}

const ended: Record<string, Record<string, string>> = {};
await Promise.all(
  Object.entries(ROADS).map(async ([road, fetchFrom]) => {
    const requests = servers.urls.map(async ({ name, url }) => {
      const end = fetchFrom(url).then(
        () => 'ok',
        (error) => String(error?.name ?? error),
      );
      return [name, await Promise.race([end, wait(60_000, 'still open')])] as const;
    });
    ended[road] = Object.fromEntries(await Promise.all(requests));
  }),
);
// What the ends of connections cause comes after the responses.
await wait(200);
console.log(JSON.stringify(ended));
servers.close();
rmSync(folder, { recursive: true, force: true });
process.exit(0);
