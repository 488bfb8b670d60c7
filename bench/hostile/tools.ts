import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { EXECUTION_STATUS_TABLE } from '../../domain/crews/states.js';
import { isFinalState } from '../../domain/state-machine.js';
import { request as call } from '../support/api-client.js';
import type { HostileCase, Respond } from './case.js';
import { sendChunksOfOneByte, serveForeign } from './serve.js';

/** A server of a crew's tool: an OpenAPI document, or an MCP server, and how it responds to every request. */
interface HostileTool {
  what: string;
  kind: 'openapi' | 'mcp';
  respond: Respond;
}

const json = (body: () => string): Respond => {
  let text: string | undefined;
  return (request, response) => {
    request.resume();
    text ??= body();
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(text);
  };
};
const repeat = (count: number, text: string) => text.repeat(count);
const NEARLY_2_MB = 2_000_000;

/** Components of which each refers to the next one forty times. */
function expandingDocument(): string {
  const level = (n: number) => [`L${n}`, { allOf: Array(40).fill({ $ref: `#/components/schemas/L${n + 1}` }) }];
  const schema = { $ref: '#/components/schemas/L0' };
  const post = { operationId: 'op', requestBody: { content: { 'application/json': { schema } } } };
  const schemas = Object.fromEntries(Array.from({ length: 12 }, (_, n) => level(n)));
  return JSON.stringify({ paths: { '/x': { post } }, components: { schemas } });
}

const TOOLS: readonly HostileTool[] = [
  {
    what: 'an OpenAPI document of 2 MB of YAML',
    kind: 'openapi',
    respond: json(() => `paths:\n${repeat(NEARLY_2_MB / 8, '  a: {}\n')}`),
  },
  {
    what: 'an OpenAPI document of 2 MB of brackets',
    kind: 'openapi',
    respond: json(() => `x: ${repeat(NEARLY_2_MB, '[')}`),
  },
  { what: 'an OpenAPI document that expands', kind: 'openapi', respond: json(expandingDocument) },
  {
    what: 'an MCP server with a list of a million zeros',
    kind: 'mcp',
    respond: json(() => `[${repeat(999_999, '0,')}0]`),
  },
  {
    what: 'an MCP server with 200,000 tools',
    kind: 'mcp',
    respond: json(() => `{"id":2,"result":{"tools":[${repeat(150_000, '{"name":"x"},')}{"name":"y"}]}}`),
  },
  {
    what: 'an MCP server with a million events',
    kind: 'mcp',
    respond: (request, response) => {
      request.resume();
      response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end(repeat(400_000, 'data\n\n'));
    },
  },
  {
    what: 'an MCP server with 2 million chunks of one byte',
    kind: 'mcp',
    respond: ({ socket }) => sendChunksOfOneByte(socket, 'application/json'),
  },
];

/** Tools of crews whose servers send what is expensive to read. */
export const TOOL_CASES: readonly HostileCase[] = TOOLS.map(({ what }, n) => ({
  name: `tool: ${what}`,
  async prepare(target) {
    const access = { apiUrl: target.apiUrl, key: await target.createKey('crew_org', 'hostile') };
    return async () => {
      const { kickoff_id } = await call(access, 'POST', `/crews/tool-${n}/kickoff`, { inputs: {} });
      for (;;) {
        const { status } = await call(access, 'GET', `/crews/tool-${n}/${kickoff_id}/status`);
        if (isFinalState(EXECUTION_STATUS_TABLE, status)) return status;
        if (target.signal.aborted) return `still ${status}`;
        await wait(300);
      }
    };
  },
}));

/** Starts the server of the tools, and writes a crew for each of them. @returns the folder of the crews */
export async function prepareTools(): Promise<{ crewsDir: string; close(): Promise<void> }> {
  const { url, close } = await serveForeign((request, response) => {
    const tool = TOOLS[Number(/^\/(\d+)/.exec(request.url ?? '')?.[1])];
    if (tool) tool.respond(request, response);
    else response.writeHead(404).end();
  });
  const crewsDir = mkdtempSync(join(tmpdir(), 'postback-crews-'));
  for (const [n, { kind }] of TOOLS.entries()) {
    const folder = join(crewsDir, `tool-${n}`);
    mkdirSync(folder);
    const tool = kind === 'mcp' ? { mcp: `${url}${n}` } : { openapi: `${url}${n}`, operation: 'op' };
    const files = {
      'agents.yaml': { reader: { role: 'Reader', goal: 'Read', backstory: 'You read.', tools: ['tool'] } },
      'tasks.yaml': { read: { description: 'Read', expected_output: 'Words', agent: 'reader' } },
      'crew.yaml': { tools: { tool } },
    };
    // YAML includes JSON.
    for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), JSON.stringify(content));
  }
  return {
    crewsDir,
    async close() {
      await close();
      rmSync(crewsDir, { recursive: true });
    },
  };
}
