import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { fillIn } from '../../domain/crews/crews.js';
import { loadCrews } from '../../providers/crews/load-crews.js';

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

  test('define agents, tasks in their order, and the placeholders as inputs', () => {
    expect(loadCrews(folder).get('mail')).toEqual({
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
    });
  });

  test('accept the settings of CrewAI that have a meaning here', () => {
    write({
      agents: `${AGENTS}  tools: [fetch_page]\n  llm: openai/small\n  max_iter: 3\n  verbose: true\n  allow_delegation: false\n`,
      tasks: `${TASKS}  human_input: true\n  context: []\n  tools: [query_database]\n  async_execution: false\n`,
    });
    const { agents, tasks } = loadCrews(folder).get('mail')!;
    expect(agents[0]).toMatchObject({ tools: ['fetch_page'], llm: 'openai/small', max_iter: 3 });
    expect(tasks).toMatchObject([
      { tools: ['fetch_page'], human_input: false },
      { tools: ['query_database'], human_input: true, context: [] },
    ]);
  });

  test('name the organisations and databases of a crew in an optional third file', () => {
    write({ access: '# who and what\norganisations: [acme, widgets]\ndatabases:\n  - library\n' });
    expect(loadCrews(folder).get('mail')).toMatchObject({ organisations: ['acme', 'widgets'], databases: ['library'] });
    write({ access: 'databases: []\n' });
    expect(loadCrews(folder).get('mail')).toMatchObject({ organisations: null, databases: [] });
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
      'tasks.yaml:5: sort.context names "send", a later task',
    ],
    [
      'context on itself',
      task('  agent: clerk\n  context: [third]\n'),
      'tasks.yaml:13: third.context names "third", the task itself',
    ],
    [
      'context that does not exist',
      task('  agent: clerk\n  context: [nothing]\n'),
      'tasks.yaml:13: third.context names "nothing", which is not in this file',
    ],
    ['an unknown key', task('  agent: clerk\n  output_file: a.md\n'), 'tasks.yaml:13: unknown key "output_file"'],
    ['a missing field', task(''), 'tasks.yaml:9: third.agent is missing'],
    ['an empty field', task('  agent: ""\n'), 'tasks.yaml:12: third.agent must not be empty'],
    ['a field that is not text', task('  agent: [clerk]\n'), 'tasks.yaml:12: third.agent must be text'],
    [
      'human_input that is not a boolean',
      task('  agent: clerk\n  human_input: maybe\n'),
      'tasks.yaml:13: third.human_input must be true or false',
    ],
    [
      'an unknown tool',
      task('  agent: clerk\n  tools:\n    - query_database\n    - shell\n'),
      'tasks.yaml:15: third.tools.1 is not a tool; the tools are query_database and fetch_page',
    ],
    ['a task twice', { tasks: `${TASKS}sort:\n  description: D\n` }, 'tasks.yaml:9: Map keys must be unique'],
    ['an empty file', { tasks: '# nothing\n' }, 'tasks.yaml:1: the file is empty'],
    ['a file without a task', { tasks: '{}\n' }, 'tasks.yaml:1: the file has no task'],
    ['a list instead of a map', { agents: '- clerk\n' }, 'agents.yaml:1: the file must be a map of agents'],
    ['a task that is not a map', { tasks: 'sort: fast\n' }, 'tasks.yaml:1: sort must be a map of settings'],
    ['an invalid name', { agents: 'the clerk:\n  role: R\n' }, 'agents.yaml:1: the clerk is not a valid name'],
    ['broken YAML', { agents: 'clerk:\n  role: "open\n' }, 'agents.yaml:3: Missing closing "quote'],
    ['an unknown setting', { access: 'databases: []\nmemory: true\n' }, 'crew.yaml:2: unknown key "memory"'],
    ['no organisation', { access: 'organisations: []\n' }, 'crew.yaml:1: organisations must name an organisation'],
    ['one database as text', { access: 'databases: library\n' }, 'crew.yaml:1: databases must be a list of databases'],
    ['an invalid database', { access: 'databases:\n  - a\n  - b c\n' }, 'crew.yaml:3: databases.1 must have 1 to 64'],
    ['an empty third file', { access: '\n' }, 'crew.yaml:1: the file is empty'],
    [
      'delegation',
      { agents: `${AGENTS}  allow_delegation: true\n` },
      'agents.yaml:5: clerk.allow_delegation can only be false',
    ],
    [
      'too many iterations',
      { agents: `${AGENTS}  max_iter: 1000\n` },
      'agents.yaml:5: clerk.max_iter must be between 1 and 50',
    ],
  ])('%s is reported with file and line', (_what, files, problem) => {
    write(files);
    expect(() => loadCrews(folder)).toThrow(`  crews/mail/${problem}`);
  });

  test('all errors of all crews are reported at once', () => {
    write({ tasks: TASKS.replaceAll('agent: clerk', 'agent: nobody') });
    write({ crew: 'Mixed Up' });
    mkdirSync(join(folder, 'half'));
    writeFileSync(join(folder, 'half', 'agents.yaml'), AGENTS);
    let message = '';
    try {
      loadCrews(folder);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message.split('\n').slice(1)).toEqual([
      expect.stringContaining('crews/Mixed Up: the folder name of a crew may hold'),
      '  crews/half/tasks.yaml:1: the file is missing or cannot be read',
      expect.stringContaining('crews/mail/tasks.yaml:4: sort.agent names "nobody"'),
      expect.stringContaining('crews/mail/tasks.yaml:8: send.agent names "nobody"'),
    ]);
  });

  test('with errors prevent the start of API and worker', () => {
    write(task('  agent: nobody\n'));
    const main = fileURLToPath(new URL('../../cli/main.js', import.meta.url));
    for (const name of ['api', 'worker']) {
      const env = { ...process.env, POSTBACK_CREWS_DIR: folder };
      const { status, stderr } = spawnSync(process.execPath, [main, name], { env, encoding: 'utf8' });
      expect(status).not.toBe(0);
      expect(stderr).toContain('crews/mail/tasks.yaml:12: third.agent names "nobody"');
      expect(stderr).not.toContain(' at ');
    }
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
