import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createOrganisations } from '../../storage/organisations.js';
import { type CrewClient, createCrewClient } from '../support/crew-client.js';
import { duringTests, processesDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../support/folder.js';
import { startHttpServer } from '../support/http-server.js';
import { testCollections } from '../support/mongodb.js';
import {
  type OpenAiServer,
  type RecordedRequest,
  sendCompletion,
  sendJson,
  startOpenAiServer,
} from '../support/openai-server.js';
import { clientOf } from '../support/organisation.js';
import { makeKey } from '../support/product.js';
import { startToolServer } from '../support/tool-server.js';

const MODEL = 'small-model';
const KEY = 'sk-the-key-of-the-operator';

/** A tool call in a model's response. @param args an object, or any text */
const toolCall = (id: string, name: string, args: unknown) => ({
  id,
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});

/** A crew with tools by HTTP, and an output that is JSON. */
function writeTooledCrew(folder: string, url: string): void {
  mkdirSync(folder);
  const agents = 'keeper:\n  role: Keeper\n  goal: Know\n  backstory: You measure.\n  tools: [measure, tides]\n';
  writeFileSync(join(folder, 'agents.yaml'), agents);
  writeFileSync(join(folder, 'tasks.yaml'), 'measure_it:\n  description: Measure\n  output_pydantic: Report\n');
  const crew = {
    tasks: [
      {
        task: 'measure_it',
        output_json: {
          type: 'object',
          properties: { steps: { type: 'integer' }, tide: { $ref: '#/$defs/tide' } },
          required: ['steps'],
          $defs: { tide: { type: 'string' } },
        },
      },
    ],
    tools: {
      measure: {
        openapi: `${url}/openapi.json`,
        operation: 'measureTower',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: the name of a secret
        headers: { Authorization: 'Bearer ${TOWER_KEY}' },
      },
      tides: { mcp: `${url}/mcp`, allow: ['next.high'] },
    },
  };
  // YAML includes JSON.
  writeFileSync(join(folder, 'crew.yaml'), JSON.stringify(crew));
}

/** A crew of the built-in model whose output is true or false, which no text holds. */
function writeDecidingCrew(folder: string): void {
  mkdirSync(folder);
  const agent = 'judge:\n  role: Judge\n  goal: Decide\n  backstory: You decide.\n  llm: built-in\n';
  writeFileSync(join(folder, 'agents.yaml'), agent);
  writeFileSync(join(folder, 'tasks.yaml'), 'decide:\n  description: Is it open?\n  output_pydantic: Decision\n');
  const tasks = [{ task: 'decide', output_json: { type: 'boolean' } }];
  writeFileSync(join(folder, 'crew.yaml'), JSON.stringify({ tasks }));
}

/** The crews of the test fixtures, a crew with tools, one that decides, and two whose tasks cannot be read, one of another organisation. */
function writeCrews(folder: string, toolServerUrl: string): void {
  cpSync('test/fixtures/crews', folder, { recursive: true });
  writeTooledCrew(join(folder, 'tooled'), toolServerUrl);
  writeDecidingCrew(join(folder, 'deciding'));
  for (const [name, organisations] of Object.entries({ broken: 'models', foreign: 'others' })) {
    cpSync('test/fixtures/crews/letter', join(folder, name), { recursive: true });
    writeFileSync(join(folder, name, 'tasks.yaml'), 'write_letter: fast\n');
    writeFileSync(join(folder, name, 'crew.yaml'), `organisations: [${organisations}]\n`);
  }
}

// Needs other crews and a model, so it starts its own product.
describe('crews with a language model and tools', () => {
  const crewsDir = join(temporaryFolder('models'), 'crews');
  const openai = duringTests(startOpenAiServer);
  const receiver = receiverDuringTests();
  const toolServer = duringTests(startToolServer);
  const pages = duringTests(() =>
    startHttpServer((request, response) => {
      if (request.url === '/astray') response.writeHead(302, { location: 'http://[' }).end();
      else if (request.url === '/moved') response.writeHead(302, { location: '/lamp' }).end();
      else if (request.url !== '/lamp') response.writeHead(404).end();
      else {
        response.setHeader('content-type', 'text/html');
        response.end(
          '<html><title>Lamps</title><nav>Menu of the site</nav><p>The lamp burns paraffin oil today.</p></html>',
        );
      }
    }),
  );
  const product = processesDuringTests('models', () => {
    writeCrews(crewsDir, toolServer.url);
    return {
      POSTBACK_EMBEDDINGS: 'off',
      POSTBACK_CREWS_DIR: crewsDir,
      POSTBACK_CREW_TOOL_SECRETS: JSON.stringify({ TOWER_KEY: 'secret-of-the-tower' }),
      POSTBACK_OPENAI_URL: openai.baseUrl,
      POSTBACK_OPENAI_KEY: KEY,
      POSTBACK_OPENAI_CHAT_MODEL: MODEL,
    };
  });
  let crew: (name: string) => CrewClient;
  beforeAll(async () => {
    const { key } = await makeKey(product.mongodbUri, 'models', 'crew_org');
    crew = (name) => createCrewClient(product.apiUrl, name, key);
    const api = await clientOf('models', product);
    await api.createDatabase('tower');
    await api.ingest({
      database: 'tower',
      memories: JSON.stringify([{ id: 'steps', text: 'The tower of the lighthouse has 142 steps.' }]),
    });
    await api.ended('tower', 'steps');
  });
  beforeEach(() => {
    openai.requests.length = 0;
  });

  /** Responds to each request with the next response, and repeats the last. */
  function script(...responses: Parameters<OpenAiServer['respondWith']>[0][]) {
    let turn = 0;
    openai.respondWith((request, response) => responses[Math.min(turn++, responses.length - 1)]!(request, response));
  }
  const messagesOf = (request: RecordedRequest) => JSON.stringify(request.json().messages);
  const calls = (...tool_calls: object[]): Parameters<OpenAiServer['respondWith']>[0] => {
    return (_request, response) => sendCompletion(response, null, { tool_calls, finish_reason: 'tool_calls' });
  };
  const completion = (text: string): Parameters<OpenAiServer['respondWith']>[0] => {
    return (_request, response) => sendCompletion(response, text);
  };

  test('an input that is not text is inserted as JSON, with its numbers unchanged', async () => {
    script(completion('Known.'));
    const research = crew('research');
    const { body } = await research.kickoff('{"inputs":{"topic":{"order":12345678901234567890,"paid":1.0}}}');
    await research.reaches(body.kickoff_id, 'pending_human_input');
    const content = String(openai.requests[0]!.json().messages.at(-1)?.content);
    expect(content).toContain('"order": 12345678901234567890');
    expect(content).toContain('"paid": 1.0');
  });

  test('the agent uses its tools, the step receiver is notified of each call, and the next task has the output', async () => {
    script(
      calls(
        toolCall('a', 'query_database', { database: 'tower', query: 'steps' }),
        toolCall('b', 'fetch_page', { url: `${pages.url}/lamp` }),
      ),
      completion('142 steps, paraffin.'),
      completion('The report.'),
    );
    const research = crew('research');
    const stepWebhookUrl = `${receiver.url}/steps`;
    const id = await research.start({ topic: 'the tower' }, { stepWebhookUrl });
    const paused = await research.reaches(id, 'pending_human_input');
    expect(paused.tasks).toMatchObject([
      { output: '142 steps, paraffin.', model: `${MODEL} (OpenAI-compatible)` },
      { output: 'The report.' },
    ]);
    const [first, second, third] = openai.requests;
    expect(first!.path).toBe('/v1/chat/completions');
    expect(first!.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(first!.json()).toMatchObject({
      model: MODEL,
      tools: [
        {
          type: 'function',
          function: { name: 'query_database', parameters: { properties: { database: { enum: ['tower'] } } } },
        },
        { type: 'function', function: { name: 'fetch_page' } },
      ],
    });
    expect(messagesOf(first!)).toContain('Find out about the tower');
    const results = second!.json().messages.filter(({ role }) => role === 'tool') as unknown as {
      tool_call_id: string;
      content: string;
    }[];
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(['a', 'b']);
    expect(results[0]!.content).toContain('142 steps');
    expect(results[1]!.content).toContain('paraffin');
    expect(results[1]!.content).not.toContain('Menu');
    expect(messagesOf(third!)).toContain('142 steps, paraffin.');
    expect(third!.json()).not.toHaveProperty('tools');
    const [{ task_id }] = paused.tasks;
    const { body } = await research.get(`/crews/research/${id}/tasks/${task_id}/steps`);
    expect(body).toMatchObject({
      task_id,
      attempt: 1,
      steps: [
        { type: 'thought', actions: [{ tool: 'query_database' }, { tool: 'fetch_page' }] },
        { type: 'action', tool: 'query_database', ok: true, result: expect.stringContaining('142 steps') },
        { type: 'action', tool: 'fetch_page', input: { url: `${pages.url}/lamp` }, ok: true },
        { type: 'thought', text: '142 steps, paraffin.' },
      ],
    });
    const steps = await receiver.waitFor(
      'the last step',
      ({ json }) => json.execution_id === id && json.task_id === 'report',
    );
    expect(steps.json.output).toEqual({ type: 'thought', text: 'The report.' });
    const actions = await eventually('both actions', () => {
      const found = receiver.received.filter(({ json }) => (json.output as { type: string }).type === 'action');
      return found.length === 2 && found;
    });
    expect(actions.map(({ json }) => (json.output as { tool: string }).tool).sort()).toEqual([
      'fetch_page',
      'query_database',
    ]);
  });

  test('a page that moves to no address is an error that the model sees', async () => {
    script(
      calls(toolCall('a', 'fetch_page', { url: `${pages.url}/astray` })),
      completion('Gone.'),
      completion('Report.'),
    );
    const research = crew('research');
    await research.reaches(await research.start({ topic: 'the tower' }), 'pending_human_input');
    expect(messagesOf(openai.requests[1]!)).toContain("The page's server responded with 302.");
  });

  test('feedback on a rejected attempt reaches the model, with the rejected output', async () => {
    script(completion('Known.'), completion('First report.'), completion('Second report.'));
    const research = crew('research');
    const id = await research.start({ topic: 'feedback' });
    await research.reaches(id, 'pending_human_input');
    const human_feedback = 'Say more about the stairs.';
    await research.resume(id, { task_id: 'report', is_approve: false, human_feedback });
    await research.reaches(id, 'pending_human_input', { task: 'report', count: 2 });
    const last = messagesOf(openai.requests.at(-1)!);
    expect(last).toContain(human_feedback);
    expect(last).toContain('First report.');
    const response = await research.resume(id, { task_id: 'report', is_approve: true });
    expect(response.body.status).toBe('completed');
    // The response is sent when the execution has completed.
    expect(await research.status(id)).toMatchObject({ status: 'completed', result: 'Second report.' });
  });

  test.each<[string, object, RegExp]>([
    ['a blocked address', toolCall('x', 'fetch_page', { url: 'https://10.1.2.3/' }), /not fetched/],
    ['a missing page', toolCall('x', 'fetch_page', { url: '<pages>/none' }), /responded with 404/],
    ['a page that has moved', toolCall('x', 'fetch_page', { url: '<pages>/moved' }), /moved to .*\/lamp/],
    [
      'a database that does not exist for the organisation',
      toolCall('x', 'query_database', { database: 'no', query: 'a' }),
      /no database/,
    ],
    ['arguments that are not JSON', toolCall('x', 'query_database', '{"database"'), /Error: The arguments/],
    ['a tool that does not exist', toolCall('x', 'run_shell', { command: 'ls' }), /no tool "run_shell"/],
  ])('the model gets the error of %s, and continues', async (_what, call, message) => {
    script(
      calls(JSON.parse(JSON.stringify(call).replace('<pages>', pages.url))),
      completion('Never mind.'),
      completion('Report.'),
    );
    const research = crew('research');
    const id = await research.start({ topic: 'errors' });
    expect((await research.reaches(id, 'pending_human_input')).tasks[0].output).toBe('Never mind.');
    expect(openai.requests[1]!.json().messages.at(-1)).toMatchObject({
      role: 'tool',
      content: expect.stringMatching(message),
    });
  });

  test('a model that keeps requesting tools must produce an output in the end', async () => {
    openai.respondWith((request, response) => {
      const { tool_choice, tools } = request.json();
      if (tool_choice === 'none' || !tools) sendCompletion(response, 'Enough.');
      else calls(toolCall('again', 'query_database', { database: 'tower', query: 'more' }))(request, response);
    });
    const research = crew('research');
    const id = await research.start({ topic: 'endless' });
    expect((await research.reaches(id, 'pending_human_input')).tasks[0].output).toBe('Enough.');
    // max_iter of the agent is 3.
    expect(openai.requests.filter((request) => request.json().tools)).toHaveLength(3);
  });

  test('transient errors of the model are retried', async () => {
    script(
      (_request, response) => sendJson(response, {}, 503),
      (_request, response) => response.destroy(),
      completion('At last.'),
    );
    const research = crew('research');
    const id = await research.start({ topic: 'patience' });
    expect((await research.reaches(id, 'pending_human_input')).tasks[0]).toMatchObject({
      output: 'At last.',
      attempts: 1,
    });
  });

  test('a permanent error ends the execution, and its message and callback reveal no secret', async () => {
    openai.respondWith((_request, response) => sendJson(response, { error: `bad key ${KEY}` }, 401));
    const research = crew('research');
    const id = await research.start({ topic: 'failure' }, { crewWebhookUrl: receiver.url, meta: { n: 1 } });
    const failed = await research.reaches(id, 'error');
    expect(failed).toMatchObject({ current_task: null, tasks: [{ status: 'error' }, { status: 'pending' }] });
    expect(failed.error).toBe("The AI server rejected the service's credentials.");
    expect(failed).not.toHaveProperty('result');
    const { json } = await receiver.waitFor('the callback', (request) => request.json.execution_id === id);
    expect(json).toEqual({
      event: 'crew_failed',
      execution_id: id,
      sequence: 1,
      error: failed.error,
      meta: { n: 1 },
      timestamp: expect.any(String),
    });
    expect(await research.resume(id, { task_id: 'look_up', is_approve: true })).toMatchObject({ status: 400 });
  });

  test('tokens of the model are counted; when they are used up, only crews with the built-in model start', async () => {
    const org = 'models-tokens';
    const { key } = await makeKey(product.mongodbUri, org, 'crew_org');
    const parseCrew = (name: string) => createCrewClient(product.apiUrl, name, key);
    const collections = await testCollections(product.mongodbUri);
    await createOrganisations(collections).setLimits(org, { model_tokens: 34 });
    script(completion('142 steps.'));
    const research = parseCrew('research');
    const id = await research.start({ topic: 'the tower' });
    await research.reaches(id, 'pending_human_input');
    const api = await clientOf(org, product);
    expect((await api.get('/usage')).body.data).toMatchObject({
      model_tokens: { used: 34, limit: 34 },
      running_crews: { used: 1 },
    });
    const rejected = await research.kickoff({ inputs: { topic: 'the lamp' } });
    expect([rejected.status, rejected.body.message]).toEqual([429, expect.stringContaining('34 of 34 are in use')]);
    expect((await parseCrew('relay').kickoff({ inputs: { address: `${pages.url}/lamp` } })).status).toBe(200);

    // Retrying the last task needs another call of the model.
    await research.resume(id, { task_id: 'report', is_approve: false });
    const failed = await research.reaches(id, 'error');
    expect(failed.error).toContain('quota model_tokens');
    expect(openai.requests).toHaveLength(2);
  });

  test('an agent can name the built-in stand-in when a model is configured, with tools', async () => {
    openai.respondWith((_request, response) => response.destroy());
    const relay = crew('relay');
    const done = await relay.reaches(await relay.start({ address: `${pages.url}/lamp` }), 'completed');
    expect(done).toMatchObject({
      result: 'The lamp burns paraffin oil today.',
      model: 'built-in (extractive stand-in)',
    });
    expect(openai.requests).toEqual([]);
  });

  test('an agent calls an operation of an API and a tool of an MCP server, and its output is JSON', async () => {
    script(
      calls(
        toolCall('a', 'measure', { name: 'old/tower', unit: 'steps', body: { by: 'foot' } }),
        toolCall('b', 'tides_next_high', { port: 'Hamburg' }),
        toolCall('c', 'measure', { name: '..', body: {} }),
        toolCall('d', 'tides_erase', {}),
        toolCall('e', 'tides_next_high', '{"port":"Ham'),
        toolCall('f', 'tides_next_high', ''),
      ),
      completion('142 steps'),
      completion('```json\n{"steps": 142, "tide": "noon"}\n```'),
    );
    const tooled = crew('tooled');
    const { result } = await tooled.reaches(await tooled.start({}), 'completed');
    expect(JSON.parse(result)).toEqual({ steps: 142, tide: 'noon' });
    const [first, second] = openai.requests;
    expect(first!.json().tools).toMatchObject([
      {
        function: {
          name: 'measure',
          description: 'Measure a tower',
          parameters: {
            properties: {
              name: { type: 'string' },
              unit: { enum: ['steps', 'metres'] },
              body: { properties: { by: { type: 'string' } } },
            },
            required: ['name', 'body'],
          },
        },
      },
      { function: { name: 'tides_next_high', parameters: { properties: { port: { type: 'string' } } } } },
    ]);
    expect(messagesOf(first!)).toContain('matches this JSON schema');
    const results = second!.json().messages.filter(({ role }) => role === 'tool');
    expect(results.map(({ content }) => content)).toEqual([
      '{"height":142}',
      'next.high at Hamburg: noon',
      'Error: name: is not valid',
      'Error: There is no tool "tides_erase".',
      'Error: The arguments are not a JSON object. The tool was not called.',
      // Some servers send nothing for a call without arguments.
      'Error: Which port?',
    ]);
    expect(toolServer.requests.filter(({ body }) => body.includes('"tools/call"'))).toHaveLength(2);
    const called = toolServer.requests.find(({ path }) => path.startsWith('/v1/'))!;
    expect(called).toMatchObject({
      method: 'POST',
      path: '/v1/towers/old%2Ftower/measures?unit=steps',
      headers: { authorization: 'Bearer secret-of-the-tower' },
      body: '{"by":"foot"}',
    });
    // The calls of one response run side by side: the last request can be of either server.
    const lastOfMcp = toolServer.requests.findLast(({ path }) => path === '/mcp')!;
    expect(lastOfMcp.headers).toMatchObject({ 'mcp-session-id': 'session-1' });
    const { crews } = (await tooled.get('/crews')).body;
    expect(crews.find(({ name }: { name: string }) => name === 'tooled').agents[0].tools).toEqual(['measure', 'tides']);
  });

  test('an output_json for which the built-in model finds no value ends the execution, and says so', async () => {
    const deciding = crew('deciding');
    const failed = await deciding.reaches(await deciding.start({}), 'error');
    expect(failed.error).toBe('The built-in model finds no value for output_json.');
  });

  test('async tasks run beside others until a task needs them', async () => {
    const inHand = new Map<string, () => void>();
    const survey = crew('survey');
    const described = (request: RecordedRequest) =>
      /Survey the (north|south|east)/.exec(messagesOf(request))?.[1] ?? 'report';
    openai.respondWith((request, response) => {
      const what = described(request);
      inHand.set(what, () => sendCompletion(response, `A tower in the ${what}.`));
    });
    const asked = (what: string) => eventually(`the request of ${what}`, () => inHand.has(what));
    const id = await survey.start({ coast: 'the coast' });
    await Promise.all([asked('north'), asked('south')]);
    expect(inHand.has('east')).toBe(false);
    inHand.get('north')!();
    await asked('east');
    expect(await survey.status(id)).toMatchObject({ status: 'running', progress: { completed_tasks: 1 } });
    inHand.get('east')!();
    await eventually('two tasks completed', async () => (await survey.status(id)).progress.completed_tasks === 2);
    expect(inHand.has('report')).toBe(false);
    inHand.get('south')!();
    await asked('report');
    inHand.get('report')!();
    expect((await survey.reaches(id, 'completed')).result).toBe('A tower in the report.');
    const report = messagesOf(openai.requests.find((request) => described(request) === 'report')!);
    for (const what of ['north', 'south', 'east']) expect(report).toContain(`A tower in the ${what}.`);
    const north = messagesOf(openai.requests.find((request) => described(request) === 'south')!);
    expect(north).not.toContain('A tower');
  });

  test('an async task that fails ends the execution', async () => {
    const fails: (() => void)[] = [];
    openai.respondWith((request, response) => {
      // The north gets no response; the south gets its own when both run.
      if (messagesOf(request).includes('the south')) fails.push(() => sendJson(response, {}, 401));
      if (openai.requests.length > 1) for (const fail of fails.splice(0)) fail();
    });
    const survey = crew('survey');
    const failed = await survey.reaches(await survey.start({ coast: 'the coast' }), 'error');
    expect(failed.error).toBe("The AI server rejected the service's credentials.");
    expect(failed.tasks.map(({ status }: { status: string }) => status)).toEqual([
      'error',
      'error',
      'pending',
      'pending',
    ]);
  });

  test("a crew in CrewAI's own files runs by what the third file adds", async () => {
    script(completion('Ships.'), completion('A post.'));
    const posting = crew('posting');
    expect((await posting.get('/crews/posting/inputs')).body).toEqual({
      inputs: ['company', 'place'],
      details: [
        { name: 'company', description: 'Whom the post is about', default: null },
        { name: 'place', description: null, default: 'Hamburg' },
      ],
    });
    expect(await posting.kickoff({ inputs: { place: 'Bremen' } })).toMatchObject({ status: 400 });
    const id = await posting.start({ company: 'Hansa' });
    expect(await posting.reaches(id, 'pending_human_input')).toMatchObject({
      tasks: [
        { agent: 'scout', output: 'Ships.' },
        { agent: 'author', output: 'A post.' },
      ],
    });
    expect(messagesOf(openai.requests[0]!)).toContain('what Hansa does in Hamburg');
    expect(messagesOf(openai.requests[0]!)).not.toContain('Expected output');
    const { crews } = (await posting.get('/crews')).body;
    expect(crews.find(({ name }: { name: string }) => name === 'posting').warnings).toEqual([
      expect.stringMatching('^crews/posting/agents.yaml:16: author: allow_delegation is not supported'),
      expect.stringMatching('^crews/posting/tasks.yaml:11: writing_task: output_file is not supported'),
    ]);
  });

  test('approval of the last task completes the execution before the response', async () => {
    const letter = crew('letter');
    const id = await letter.start({ name: 'Ada', facts: 'The ship leaves at nine. The cat is fed twice a day.' });
    await letter.reaches(id, 'pending_human_input');
    expect(await letter.resume(id, { task_id: 'write_letter', is_approve: true })).toMatchObject({
      status: 200,
      body: { status: 'completed' },
    });
    expect(await letter.status(id)).toMatchObject({ status: 'completed' });
  });

  test('a crew with mistakes in its files is listed with them to its organisations; the others run', async () => {
    const { invalid } = (await crew('letter').get('/crews')).body;
    expect(invalid).toEqual([
      { name: 'broken', problems: ['crews/broken/tasks.yaml:1: write_letter must be a map of settings'] },
    ]);
    const inputs = {};
    const messages = ['broken', 'foreign'].map(async (name) => (await crew(name).kickoff({ inputs })).body);
    expect(await Promise.all(messages)).toMatchObject([
      { message: 'The files of the crew "broken" have mistakes, which GET /crews lists.' },
      { message: 'There is no crew "foreign".' },
    ]);
  });

  describe('a crew with organisations and databases', () => {
    const inputs = { question: 'What is behind the door?' };

    test('is there for its organisations only', async () => {
      const foreign = (await makeKey(product.mongodbUri, 'models-foreign', 'crew_org')).key;
      const stranger = createCrewClient(product.apiUrl, 'reading', foreign);
      expect(await stranger.kickoff({ inputs })).toMatchObject({ status: 404 });
      expect(await stranger.get('/crews/reading/inputs')).toMatchObject({ status: 404 });
      const namesFor = async (client: CrewClient) =>
        (await client.get('/crews')).body.crews.map(({ name }: { name: string }) => name);
      expect(await namesFor(stranger)).not.toContain('reading');
      expect(await namesFor(stranger)).toContain('research');
      expect(await namesFor(crew('reading'))).toContain('reading');
    });

    test('queries no other database, whatever its model asks for', async () => {
      const api = await clientOf('models', product);
      await api.createDatabase('vault');
      await api.ingest({ database: 'vault', memories: '[{"id":"door","text":"Behind the door is the treasure."}]' });
      await api.ended('vault', 'door');
      script(
        calls(
          toolCall('a', 'query_database', { database: 'vault', query: 'door' }),
          toolCall('b', 'query_database', { database: 'tower', query: 'steps' }),
        ),
        completion('142 steps.'),
      );
      const reading = crew('reading');
      await reading.reaches(await reading.start(inputs), 'completed');
      const [first, second] = openai.requests;
      expect(first!.json()).toMatchObject({
        tools: [{ function: { parameters: { properties: { database: { enum: ['tower'] } } } } }],
      });
      const results = second!.json().messages.filter(({ role }) => role === 'tool');
      expect(results.map(({ content }) => content)).toEqual([
        'Error: There is no database "vault".',
        expect.stringContaining('142 steps'),
      ]);
    });

    test('is not started by a key that may not read', async () => {
      const { key } = await makeKey(product.mongodbUri, 'models', 'crew_org', null, ['write']);
      const writer = createCrewClient(product.apiUrl, 'reading', key);
      expect(await writer.kickoff({ inputs })).toMatchObject({ status: 403 });
      script(completion('Dear reader.'));
      const letter = createCrewClient(product.apiUrl, 'letter', key);
      const names = (await crew('letter').get('/crews/letter/inputs')).body.inputs as string[];
      const given = Object.fromEntries(names.map((name) => [name, 'x']));
      expect(await letter.kickoff({ inputs: given })).toMatchObject({ status: 200 });
    });
  });
});
