import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fillIn } from '../../domain/crews/crews.js';
import { createCrewCatalogue, loadCrews } from '../../providers/crews/load-crews.js';

const AGENTS = 'clerk:\n  role: Clerk of {shop}\n  goal: Sort {mail}\n  backstory: You sort.\n';
const TASKS =
  'sort:\n  description: Sort {mail} for {reader}\n  expected_output: A list\n  agent: clerk\n' +
  'send:\n  description: Send it\n  expected_output: A receipt for {reader}\n  agent: clerk\n';

describe('the files of a crew', () => {
  let folder: string;
  beforeEach(() => {
    folder = join(mkdtempSync(join(tmpdir(), 'postback-crews-')), 'crews');
    write({});
  });
  afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));

  function write({ agents = AGENTS, tasks = TASKS, crew = 'mail', access = '' }): void {
    mkdirSync(join(folder, crew), { recursive: true });
    writeFileSync(join(folder, crew, 'agents.yaml'), agents);
    writeFileSync(join(folder, crew, 'tasks.yaml'), tasks);
    if (access !== '') writeFileSync(join(folder, crew, 'crew.yaml'), access);
  }

  const crew = () => loadCrews(folder).crews.get('mail')!;
  const problems = () => loadCrews(folder).invalid.get('mail')?.problems;
  const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

  test('are read again when they have changed; with mistakes, the crew stays as it was', () => {
    const mistakes: string[] = [];
    const onMistakes = (name: string, problems: readonly string[]) => void mistakes.push(`${name}: ${problems.length}`);
    const { crews, invalidCrews } = createCrewCatalogue(folder, { onMistakes, checkEveryMs: 0 });
    const goal = () => crews().get('mail')?.agents[0]?.goal;
    expect(goal()).toBe('Sort {mail}');
    write({ agents: AGENTS.replace('Sort {mail}', 'Sort {mail} quickly') });
    expect(goal()).toBe('Sort {mail} quickly');
    write({ agents: AGENTS.replace('  goal', '  gaol') });
    expect(goal()).toBe('Sort {mail} quickly');
    expect(invalidCrews().get('mail')?.problems.join()).toContain('crews/mail/agents.yaml:');
    expect(mistakes).toEqual(['mail: 1']);
    write({});
    expect([goal(), invalidCrews().size]).toEqual(['Sort {mail}', 0]);
    write({ crew: 'second' });
    expect([...crews().keys()]).toEqual(['mail', 'second']);
    rmSync(join(folder, 'second'), { recursive: true });
    expect([...crews().keys()]).toEqual(['mail']);
  });

  test('define agents, tasks in their order, and the placeholders as inputs', () => {
    expect(crew()).toEqual({
      name: 'mail',
      agents: [
        {
          name: 'clerk',
          role: 'Clerk of {shop}',
          goal: 'Sort {mail}',
          backstory: 'You sort.',
          tools: [],
          llm: null,
          max_iter: 20,
        },
      ],
      tasks: [
        {
          name: 'sort',
          description: 'Sort {mail} for {reader}',
          expected_output: 'A list',
          agent: 'clerk',
          context: [],
          human_input: false,
          tools: [],
        },
        expect.objectContaining({ name: 'send', context: ['sort'] }),
      ],
      inputs: ['mail', 'reader', 'shop'],
      organisations: null,
      databases: null,
      input_settings: {},
      warnings: [],
    });
  });

  test('accept the settings of CrewAI that have a meaning here', () => {
    write({
      agents: `${AGENTS}  tools: [fetch_page]\n  llm: openai/small\n  max_iter: 3\n  verbose: 2\n  allow_delegation: false\n  memory:\n`,
      tasks: `${TASKS}  human_input: true\n  context: []\n  tools: [query_database]\n  async_execution: false\n`,
    });
    const { agents, tasks, warnings } = crew();
    expect(warnings).toEqual([]);
    expect(agents[0]).toMatchObject({ tools: ['fetch_page'], llm: 'openai/small', max_iter: 3 });
    expect(tasks).toMatchObject([
      { tools: ['fetch_page'], human_input: false },
      { tools: ['query_database'], human_input: true, context: [] },
    ]);
  });

  test('name the organisations and databases of a crew in an optional third file', () => {
    write({ access: '# who and what\norganisations: [acme, widgets]\ndatabases:\n  - library\n' });
    expect(crew()).toMatchObject({ organisations: ['acme', 'widgets'], databases: ['library'] });
    write({ access: 'databases: []\n' });
    expect(crew()).toMatchObject({ organisations: null, databases: [] });
  });

  const TWO_AGENTS = `${AGENTS}carrier:\n  role: Carrier\n  goal: Carry\n  backstory: You carry.\n`;

  test('that leave to Python which agent does a task get the agents from the third file', () => {
    const tasks = TASKS.replaceAll('  agent: clerk\n', '').replace('A list', '>');
    const access =
      'tasks:\n  - task: sort\n    agent: clerk\n    human_input: true\n  - {task: send, agent: carrier, context: []}\n';
    write({ agents: TWO_AGENTS, tasks, access });
    expect(crew().tasks).toMatchObject([
      { name: 'sort', agent: 'clerk', human_input: true, expected_output: '' },
      { name: 'send', agent: 'carrier', human_input: false, context: [] },
    ]);
  });

  test('may name agents and tasks in any language', () => {
    write({
      agents: AGENTS.replace('clerk:', 'rédactrice:'),
      tasks: 'überprüfen:\n  description: D\n  agent: rédactrice\n送信_2:\n  description: D\n  context: [überprüfen]\n',
    });
    expect(crew().tasks).toMatchObject([
      { name: 'überprüfen', agent: 'rédactrice' },
      { name: '送信_2', context: ['überprüfen'] },
    ]);
    write({ access: 'tools:\n  météo: {mcp: "https://a.example/mcp"}\n' });
    expect(problems()).toEqual([expect.stringMatching('^crews/mail/crew.yaml:2: tools.météo is not a valid name: ')]);
  });

  test('that leave out the only agent need no third file', () => {
    write({ tasks: TASKS.replaceAll('  agent: clerk\n', '') });
    expect(crew().tasks).toMatchObject([{ agent: 'clerk' }, { agent: 'clerk' }]);
  });

  test('that leave out one of several agents are rejected with the lines to add', () => {
    write({ agents: TWO_AGENTS, tasks: TASKS.replace('  agent: clerk\nsend', 'send') });
    expect(problems()).toEqual([
      'crews/mail/tasks.yaml:1: sort.agent is missing; name the agents in crews/mail/crew.yaml:\n' +
        'tasks:\n  - task: sort\n    agent: # clerk, carrier',
    ]);
  });

  test('load when the lines to add are added to the third file, also to one with other settings', () => {
    const tasks = TASKS.replaceAll('  agent: clerk\n', '');
    for (const access of ['', 'databases: [library]\n']) {
      write({ agents: TWO_AGENTS, tasks, access });
      const lines = problems()![0]!.split('\n').slice(1).join('\n');
      write({ agents: TWO_AGENTS, tasks, access: `${access}${lines.replaceAll('agent: #', 'agent: carrier #')}\n` });
      expect(crew().tasks).toMatchObject([{ agent: 'carrier' }, { agent: 'carrier' }]);
    }
  });

  test('with tasks in the third file that name no agent are told about each where it is to be added', () => {
    const access = 'tasks:\n  - {task: sort, agent: clerk}\n  - task: third\n    human_input: true\n';
    const tasks = `${TASKS.replaceAll('  agent: clerk\n', '')}third:\n  description: Third\n`;
    write({ agents: TWO_AGENTS, tasks, access });
    expect(problems()).toEqual([
      'crews/mail/tasks.yaml:4: send.agent is missing; ' +
        'name the agents under "tasks" in crews/mail/crew.yaml, in the order of the tasks:\n' +
        '  - task: send\n    agent: # clerk, carrier',
      'crews/mail/crew.yaml:3: third.agent is missing; the agents are clerk, carrier',
    ]);
  });

  test('are read as by Python, with merged maps, and yes and no', () => {
    write({
      agents: `${AGENTS.replace('clerk:', 'clerk: &clerk')}  allow_delegation: no\n  memory: Off\ncarrier:\n  <<: *clerk\n  role: Carrier\n`,
      tasks: `${TASKS}  human_input: yes\nthird:\n  description: D\n  agent: clerk\n  human_input: "true"\n`,
    });
    const { agents, tasks, warnings } = crew();
    expect(warnings).toEqual([]);
    expect(agents).toMatchObject([{ role: 'Clerk of {shop}' }, { role: 'Carrier', goal: 'Sort {mail}' }]);
    expect(tasks).toMatchObject([{ human_input: false }, { human_input: true }, { human_input: true }]);
  });

  test('may have entries for settings that agents or tasks share', () => {
    write({
      agents: `.quick: &quick\n  max_iter: 3\n${AGENTS}  <<: *quick\n`,
      tasks: `defaults: &defaults\n  agent: clerk\n  human_input: true\n${TASKS}third:\n  <<: *defaults\n  description: D\n`,
    });
    expect(crew()).toMatchObject({
      agents: [{ name: 'clerk', max_iter: 3 }],
      tasks: [{ name: 'sort' }, { name: 'send' }, { name: 'third', agent: 'clerk', human_input: true }],
    });
  });

  test('may have settings that are empty, and settings whose names only resemble others', () => {
    write({
      agents: `${AGENTS}  mcps: []\n  knowledge_sources: []\n  tone: kind\n  goals: [Sort, Send]\n`,
      tasks: `${TASKS}  guardrails: []\n  output_file: ''\n  context: [sort]\n  content: letters\n`,
    });
    expect(crew().warnings).toEqual([
      'crews/mail/agents.yaml:7: clerk: unknown key "tone" is ignored',
      'crews/mail/agents.yaml:8: clerk: unknown key "goals" is ignored',
      'crews/mail/tasks.yaml:12: send: unknown key "content" is ignored',
    ]);
  });

  test('the third file wins over the other two, also in the order of the tasks that it names', () => {
    const access =
      'tasks:\n  - {task: third, agent: carrier, context: []}\n  - {task: sort, description: "Sort {parcels}", tools: [fetch_page]}\n';
    const third = '  description: Third\n  agent: clerk\n  context: [sort]\n';
    write({ agents: TWO_AGENTS, tasks: `${TASKS}third:\n${third}`, access });
    expect(crew()).toMatchObject({
      tasks: [
        { name: 'third', agent: 'carrier', context: [] },
        { name: 'send', context: ['third'] },
        { name: 'sort', description: 'Sort {parcels}', tools: ['fetch_page'], context: ['third', 'send'] },
      ],
      inputs: ['reader', 'parcels', 'shop', 'mail'],
    });
  });

  test.each([
    ['90s', 90],
    ['2h 30m', 9_000],
    ['3 days', 259_200],
    ['P1DT12H', 129_600],
    ['P2W', 1_209_600],
    ['45', 45],
    ['1.5', 1.5],
    ['soon', null],
    ['PT', null],
    ['0s', null],
    ['99999d', null],
  ])('the deadline %s', (text, seconds) => {
    write({
      tasks: `${TASKS}  human_input: true\n`,
      access: `deadline: ${text}\non_deadline: approve\n`,
    });
    const review = { deadline_ms: Number(seconds) * 1_000, reminder_ms: null, on_deadline: 'approve' };
    if (seconds === null)
      expect(problems()).toContainEqual(expect.stringContaining('crews/mail/crew.yaml:1: deadline must be'));
    else expect(crew().review).toEqual(review);
  });

  test('async tasks that follow each other do not receive each other by default', () => {
    const async = '  async_execution: true\n';
    const task = (name: string) => `${name}:\n  description: D\n  agent: clerk\n`;
    write({ tasks: [task('a'), task('b'), async, task('c'), async, task('d')].join('') });
    expect(crew().tasks.map(({ context }) => context)).toEqual([[], ['a'], ['a'], ['a', 'b', 'c']]);
  });

  test('inputs have descriptions and defaults in the third file', () => {
    const access =
      'inputs:\n  mail: {description: What has arrived, default: [a letter, 2]}\n  shop: {default: the shop}\n  male: {}\n';
    write({ access });
    const { input_settings, warnings } = crew();
    expect(input_settings).toMatchObject({
      mail: { description: 'What has arrived', default: '[\n  "a letter",\n  2\n]' },
      shop: { description: null, default: 'the shop' },
    });
    expect(warnings).toEqual(['crews/mail/crew.yaml:4: no text of the crew has {male}']);
  });

  test('run in another order than that of the file, when the third file lists two tasks the other way round', () => {
    const tasks = TASKS.replace('  agent: clerk\nsend', '  agent: clerk\n  context: [send]\nsend');
    write({ tasks, access: 'tasks: [{task: send}, {task: sort}]\n' });
    expect(crew().tasks).toMatchObject([{ name: 'send' }, { name: 'sort', context: ['send'] }]);
  });

  test('tools that only Python knows are left out, with a warning', () => {
    write({
      agents: `${AGENTS}  tools: [search_tool, fetch_page]\n`,
      tasks: `${TASKS}  tools:\n    - calculate\n`,
    });
    const { agents, tasks, warnings } = crew();
    expect(agents[0]!.tools).toEqual(['fetch_page']);
    expect(tasks.map(({ tools }) => tools)).toEqual([['fetch_page'], []]);
    const reason =
      'is a function in Python, and the agent works without it; describe others under "tools" in crew.yaml';
    expect(warnings).toEqual([
      `crews/mail/agents.yaml:5: clerk.tools.0: the tool "search_tool" ${reason}`,
      `crews/mail/tasks.yaml:10: send.tools.0: the tool "calculate" ${reason}`,
    ]);
    write({
      agents: `${AGENTS}  tools: [search_tool]\n`,
      access: 'tools:\n  search_tool: {mcp: "https://a.example/mcp"}\n',
    });
    expect(crew()).toMatchObject({ agents: [{ tools: ['search_tool'] }], warnings: [] });
  });

  test('may describe a task in the third file only', () => {
    const access = 'tasks:\n  - task: third\n    description: Sort {parcels}\n    expected_output: A pile\n';
    write({ tasks: `${TASKS}third:\n  agent: clerk\n`, access });
    expect(crew().tasks[2]).toMatchObject({ description: 'Sort {parcels}', expected_output: 'A pile' });
    write({ tasks: `${TASKS}third:\n  agent: clerk\n`, access: '# nothing more\ndatabases: []\n' });
    expect(problems()).toEqual(['crews/mail/tasks.yaml:9: third.description is missing']);
  });

  test('settings that are not honoured are warnings with file and line', () => {
    write({
      agents: `${AGENTS}  allow_delegation: true\n  max_iter: 1000\n  favourite_colour: blue\n`,
      tasks: `${TASKS}  output_file: a.md\n  create_directory: true\n`,
      access: 'process: sequential\nmemory: true\nverbose: true\ntasks:\n  - task: sort\n    markdown: true\n',
    });
    const { agents, warnings } = crew();
    expect(agents[0]!.max_iter).toBe(50);
    expect(warnings).toEqual([
      'crews/mail/agents.yaml:5: clerk: allow_delegation is not supported: agents do not delegate; each does its own tasks',
      'crews/mail/agents.yaml:7: clerk: unknown key "favourite_colour" is ignored',
      'crews/mail/agents.yaml:6: clerk: max_iter is 1000, and 50 is used',
      expect.stringMatching('^crews/mail/tasks.yaml:9: send: output_file is not supported: '),
      expect.stringMatching('^crews/mail/crew.yaml:6: sort: markdown is not supported: '),
      expect.stringMatching('^crews/mail/crew.yaml:2: memory is not supported: '),
    ]);
  });

  test.each(['config', 'src/config', 'src/mail_crew/config'])('may lie in %s, as in a project of CrewAI', (place) => {
    rmSync(join(folder, 'mail'), { recursive: true });
    write({ crew: `mail/${place}`, access: 'databases: []\n' });
    expect(crew()).toMatchObject({ agents: [{ name: 'clerk' }], databases: [] });
    writeFileSync(join(folder, 'mail', 'crew.yaml'), 'databases: [own]\n');
    expect(crew()).toMatchObject({ databases: ['own'] });
  });

  test.each<[string, BufferEncoding, string]>([
    ['Latin-1', 'latin1', ''],
    ['UTF-16', 'utf16le', '\ufeff'],
  ])('in %s are rejected, because letters would be lost', (_what, encoding, mark) => {
    writeFileSync(join(folder, 'mail', 'agents.yaml'), mark + AGENTS.replace('You', 'Señor, you'), encoding);
    expect(problems()).toEqual(['crews/mail/agents.yaml:1: the file is not UTF-8; save it with this encoding']);
  });

  test('that lie elsewhere are reported with the places where they may be', () => {
    rmSync(join(folder, 'mail'), { recursive: true });
    write({ crew: 'mail/src/mail_flow/crews/sorting/config' });
    expect(problems()).toEqual([
      'crews/mail/agents.yaml:1: the file is missing or cannot be read',
      'crews/mail/tasks.yaml:1: the file is missing or cannot be read',
      'crews/mail: agents.yaml and tasks.yaml may also be in config/, src/config/ or src/<package>/config/',
    ]);
  });

  const task = (lines: string) => ({ tasks: `${TASKS}third:\n  description: D\n  expected_output: E\n${lines}` });
  test.each<[string, { agents?: string; tasks?: string; access?: string }, string]>([
    [
      'an unknown agent',
      task('  agent: nobody\n'),
      'tasks.yaml:12: third.agent names "nobody", which is not in agents.yaml',
    ],
    [
      'context that comes later',
      { tasks: TASKS.replace('  agent: clerk\nsend', '  context:\n    - send\n  agent: clerk\nsend') },
      'tasks.yaml:5: sort.context names "send", a later task; list both in their order under "tasks" in crew.yaml',
    ],
    [
      'context on itself',
      task('  agent: clerk\n  context: [third]\n'),
      'tasks.yaml:13: third.context names "third", the task itself',
    ],
    [
      'context that does not exist',
      task('  agent: clerk\n  context: [nothing]\n'),
      'tasks.yaml:13: third.context names "nothing", which is not in tasks.yaml',
    ],
    [
      'a misspelled key',
      task('  agent: clerk\n  human_inputs: true\n'),
      'tasks.yaml:13: third: unknown key "human_inputs"; did you mean "human_input"?',
    ],
    [
      'a check of the output',
      task('  agent: clerk\n  guardrail: no names\n'),
      'tasks.yaml:13: third: guardrail is not supported: the output would be used unchecked',
    ],
    [
      'an output schema that is none',
      { access: 'tasks:\n  - task: sort\n    output_json: {type: nonsense}\n' },
      'crew.yaml:3: sort.output_json is not a JSON schema',
    ],
    [
      'a tool of two kinds',
      { access: 'tools:\n  find: {mcp: "https://a.example/mcp", operation: find}\n' },
      'crew.yaml:2: tools.find must have openapi and operation, or mcp',
    ],
    [
      'a tool with the name of a built-in one',
      { access: 'tools:\n  fetch_page: {mcp: "https://a.example/mcp"}\n' },
      'crew.yaml:2: tools.fetch_page has the name of a built-in tool',
    ],
    [
      'a Python class',
      task('  agent: clerk\n  output_pydantic: Letter\n'),
      'tasks.yaml:13: third: output_pydantic is not supported: it names a Python class',
    ],
    ['a missing field', { tasks: 'sort:\n  agent: clerk\n' }, 'tasks.yaml:1: sort.description is missing'],
    ['an empty field', task('  agent: ""\n'), 'tasks.yaml:12: third.agent must not be empty'],
    ['a field that is not text', task('  agent: [clerk]\n'), 'tasks.yaml:12: third.agent must be text'],
    [
      'human_input that is not a boolean',
      task('  agent: clerk\n  human_input: maybe\n'),
      'tasks.yaml:13: third.human_input must be true or false',
    ],
    [
      'a misspelled tool',
      task('  agent: clerk\n  tools:\n    - query_database\n    - fetch_pages\n'),
      'tasks.yaml:15: third.tools.1: unknown tool "fetch_pages"; did you mean "fetch_page"?',
    ],
    [
      'an unknown tool in the third file',
      { access: 'tasks:\n  - task: sort\n    tools: [shell]\n' },
      'crew.yaml:3: sort.tools.0 is not a tool; the tools are query_database and fetch_page; describe others under "tools"',
    ],
    [
      'a task twice',
      { tasks: `${TASKS}sort:\n  description: D\n` },
      'tasks.yaml:9: the key "sort" is there twice; Python takes the last one, and the other is lost',
    ],
    ['a setting twice', { agents: `${AGENTS}  "goal" : Rest\n` }, 'agents.yaml:5: the key "goal" is there twice'],
    ['an empty file', { tasks: '# nothing\n' }, 'tasks.yaml:1: the file is empty'],
    ['a file without a task', { tasks: '{}\n' }, 'tasks.yaml:1: the file has no task'],
    ['a list instead of a map', { agents: '- clerk\n' }, 'agents.yaml:1: the file must be a map of agents'],
    ['a task that is not a map', { tasks: 'sort: fast\n' }, 'tasks.yaml:1: sort must be a map of settings'],
    ['an invalid name', { agents: 'the clerk:\n  role: R\n' }, 'agents.yaml:1: the clerk is not a valid name'],
    [
      'a text with a colon',
      { agents: AGENTS.replace('You sort.', 'You sort: by name') },
      'agents.yaml:4: Nested mappings are not allowed in compact mappings; put a text with ": "',
    ],
    [
      'a text that starts with a placeholder',
      { agents: AGENTS.replace('Sort {mail}', '{mail} is sorted') },
      'agents.yaml:3: Unexpected scalar at node end; put a text that starts with { or [ in quotes',
    ],
    [
      'a placeholder without quotes',
      { agents: AGENTS.replace('Sort {mail}', '{mail}') },
      'agents.yaml:3: clerk.goal must be text; put a placeholder in quotes',
    ],
    [
      'a text that starts with an exclamation mark',
      { agents: AGENTS.replace('You sort.', '!always sort') },
      'agents.yaml:4: Unresolved tag: !always; put a text that starts with this in quotes',
    ],
    [
      'a second document',
      { agents: `${AGENTS}---\n${AGENTS}` },
      'agents.yaml:5: the file has several documents, divided by "---"; it must have one',
    ],
    ['broken YAML', { agents: 'clerk:\n  role: "open\n' }, 'agents.yaml:3: Missing closing "quote'],
    [
      'Markdown without quotes',
      { agents: 'clerk:\n  role: **Clerk**\n' },
      'agents.yaml:2: "*" starts a reference, and there is no anchor "*Clerk**"; put a text in quotes',
    ],
    ['a merge of a text', { agents: `${AGENTS}  <<: text\n` }, 'agents.yaml:1: Merge sources must be maps'],
    ['an unknown setting', { access: 'databases: []\ncolour: blue\n' }, 'crew.yaml:2: unknown key "colour"'],
    [
      'a hierarchical process',
      { access: 'databases: []\nprocess: hierarchical\n' },
      'crew.yaml:2: process can only be sequential: a hierarchical process is not supported',
    ],
    [
      'a manager',
      { access: 'manager_llm: gpt-4o\n' },
      'crew.yaml:1: manager_llm is not supported: a hierarchical process is not supported',
    ],
    [
      'a reminder after the deadline',
      { access: 'deadline: 1h\nreminder: 2h\n' },
      'crew.yaml:2: reminder must be shorter than the deadline',
    ],
    [
      'an unknown action at the deadline',
      { access: 'deadline: 1h\non_deadline: retry\n' },
      'crew.yaml:2: on_deadline must be fail, approve, reject',
    ],
    [
      'an async task that waits for a person',
      task('  agent: clerk\n  human_input: true\n  async_execution: true\n'),
      'tasks.yaml:14: third: a task with human_input cannot be async',
    ],
    [
      'an unknown task in the third file',
      { access: 'tasks:\n  - task: sort\n  - task: sell\n' },
      'crew.yaml:3: tasks.1.task names "sell", which is not in tasks.yaml',
    ],
    [
      'a task twice in the third file',
      { access: 'tasks:\n  - task: sort\n  - task: sort\n' },
      'crew.yaml:3: tasks.1.task names "sort" again',
    ],
    [
      'an unknown agent in the third file',
      { access: 'tasks:\n  - task: sort\n    agent: nobody\n' },
      'crew.yaml:3: sort.agent names "nobody", which is not in agents.yaml',
    ],
    [
      'a later task as context in the third file',
      { access: 'tasks:\n  - task: sort\n    context: [send]\n' },
      'crew.yaml:3: sort.context names "send", a later task',
    ],
    ['no organisation', { access: 'organisations: []\n' }, 'crew.yaml:1: organisations must name an organisation'],
    ['one database as text', { access: 'databases: library\n' }, 'crew.yaml:1: databases must be a list of databases'],
    ['an invalid database', { access: 'databases:\n  - a\n  - b c\n' }, 'crew.yaml:3: databases.1 must have 1 to 64'],
    ['an empty third file', { access: '\n' }, 'crew.yaml:1: the file is empty'],
    ['no iterations', { agents: `${AGENTS}  max_iter: 0\n` }, 'agents.yaml:5: clerk.max_iter must be at least 1'],
  ])('%s is reported with file and line', (_what, files, problem) => {
    write(files);
    expect(problems()).toContainEqual(expect.stringMatching(`^${escaped(`crews/mail/${problem}`)}`));
  });

  test('all errors of all crews are reported at once', () => {
    write({ tasks: TASKS.replaceAll('agent: clerk', 'agent: nobody') });
    write({ crew: 'Mixed Up' });
    mkdirSync(join(folder, 'half'));
    writeFileSync(join(folder, 'half', 'agents.yaml'), AGENTS);
    write({ crew: 'good' });
    const { crews, invalid } = loadCrews(folder);
    expect([...crews.keys()]).toEqual(['good']);
    expect([...invalid.values()].flatMap(({ problems }) => problems)).toEqual([
      expect.stringContaining('crews/Mixed Up: the folder name of a crew may hold'),
      'crews/half/tasks.yaml:1: the file is missing or cannot be read',
      expect.stringContaining('crews/mail/tasks.yaml:4: sort.agent names "nobody"'),
      expect.stringContaining('crews/mail/tasks.yaml:8: send.agent names "nobody"'),
    ]);
  });

  test('with mistakes are shown to the organisations that the crew is for', () => {
    write({ tasks: 'sort: fast\n', access: 'organisations: [acme]\n' });
    expect(loadCrews(folder).invalid.get('mail')).toMatchObject({ organisations: ['acme'] });
    write({ access: 'organisations: acme\n' });
    expect(loadCrews(folder).invalid.get('mail')).toMatchObject({ organisations: [] });
  });

  test('that are missing are reported with their folder', () => {
    expect(() => loadCrews(join(folder, 'none'))).toThrow(/none: the folder does not exist/);
  });
});

describe('placeholders', () => {
  test.each([
    ['Hello {name}', 'Hello Ada'],
    ['{name}{name}', 'AdaAda'],
    ['{"name": {name}}', '{"name": Ada}'],
    ['{{name}}', '{Ada}'],
    ['{ name } {other} {0} {}', '{ name } {other} {0} {}'],
    ['{braces}', '{name}'],
    ['{constructor}', '{constructor}'],
  ])('%s', (text, filled) => {
    const inputs = { name: 'Ada', braces: '{name}' };
    expect(fillIn(text, inputs)).toBe(filled);
  });
});
