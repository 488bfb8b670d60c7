import { describe, expect, test } from '@jest/globals';
import { type CrewToolDependencies, createCrewTools } from '../../activities/crews/tools.js';
import { parseAllowedCidrs } from '../../domain/address-rules.js';
import { createToolDocumentReader } from '../../providers/crews/tool-documents/index.js';
import { describeFile } from '../../providers/extraction/index.js';
import { createOutboundClient } from '../../providers/outbound/guarded-client.js';
import { identifySelf, isAlive } from '../../runtime/process-identity.js';
import { createScratch } from '../../storage/scratch.js';
import { duringTests } from '../support/during-tests.js';
import { startExtractor } from '../support/extractor.js';
import { temporaryFolder } from '../support/folder.js';
import { startHttpServer } from '../support/http-server.js';

const OPERATION = { operationId: 'cancel', parameters: [{ name: 'order', in: 'query' }] };
const TOOL_LIMIT_MS = 150_000;

describe('a tool call', () => {
  const requests: string[] = [];
  let onCancel: () => void = () => undefined;
  const server = duringTests(() =>
    startHttpServer((request, response) => {
      requests.push(`${request.method} ${request.url}`);
      if (request.url === '/openapi.json')
        return response.end(JSON.stringify({ paths: { '/cancel': { post: OPERATION } } }));
      if (request.url === '/page')
        return response.setHeader('content-type', 'text/html').end('<p>The lamp is lit.</p>');
      // Never responds.
      onCancel();
    }),
  );
  const outbound = duringTests(() => createOutboundClient({ allowedCidrs: parseAllowedCidrs('127.0.0.0/8') }));
  const toolDocuments = duringTests(createToolDocumentReader);
  const extractor = duringTests(startExtractor);
  const scratch = createScratch({ dir: temporaryFolder('tool-calls'), self: identifySelf(), isAlive });
  const extractedFor: (string | undefined)[] = [];

  function toolsOf() {
    const recording: CrewToolDependencies['extractor'] = {
      extract: (source, ...rest) => {
        extractedFor.push(source.org);
        return extractor.extract(source, ...rest);
      },
    };
    const unused = {} as never;
    return createCrewTools({
      ...{ outbound, toolDocuments, toolSecrets: {}, scratch, describeFile, extractor: recording },
      ...{ databases: unused, retrieval: unused },
    });
  }
  const access = () => ({
    org: 'tool-calls',
    databases: null,
    tools: { cancel: { openapi: `${server.url}/openapi.json`, operation: 'cancel', headers: {} } },
  });
  const run = (call: { tool: string; arguments: Record<string, unknown> }, signal = new AbortController().signal) =>
    toolsOf().run(access(), { id: 'a', ...call }, ['cancel', 'fetch_page'], signal, false);

  test('that never ends becomes an error for the agent at the limit of time', async () => {
    const limit = new AbortController();
    const { timeout } = AbortSignal;
    AbortSignal.timeout = (ms) => (ms === TOOL_LIMIT_MS ? limit.signal : timeout.call(AbortSignal, ms));
    try {
      onCancel = () => limit.abort();
      expect(await run({ tool: 'cancel', arguments: {} })).toEqual({
        ok: false,
        result: 'Error: The tool took more than 150 seconds.',
      });
    } finally {
      AbortSignal.timeout = timeout;
    }
  });

  test('that is cancelled is not an error for the agent', async () => {
    const stop = new AbortController();
    onCancel = () => stop.abort(new Error('cancelled'));
    await expect(run({ tool: 'cancel', arguments: {} }, stop.signal)).rejects.toThrow();
  });

  test('that fetches a page reads it on behalf of the organisation', async () => {
    expect(await run({ tool: 'fetch_page', arguments: { url: `${server.url}/page` } })).toMatchObject({
      ok: true,
      result: expect.stringContaining('The lamp is lit.'),
    });
    expect(extractedFor).toEqual(['tool-calls']);
  });
});
