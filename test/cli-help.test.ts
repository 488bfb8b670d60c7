import { expect, test } from '@jest/globals';
import { EXAMPLES } from '../cli/examples.js';
import { allCommands, helpOf, problemsOf } from './support/command-lines.js';

/** Commands without `--json`, and why. */
const WITHOUT_JSON: Record<string, string> = {
  start: 'runs until it is stopped; its data are in .postback/dev.json',
  api: 'runs until it is stopped, and logs in JSON',
  worker: 'runs until it is stopped, and logs in JSON',
  embedder: 'runs until it is stopped, and logs in JSON',
  demo: 'is shown to a person',
  mcp: 'speaks JSON-RPC',
  completion: 'prints a script for a shell',
};

const commands = allCommands();

test('the help of every command has examples', () => {
  expect(commands.size).toBeGreaterThan(50);
  for (const [path, command] of commands) {
    expect([path, helpOf(command)]).toEqual([path, expect.stringMatching(/\nExamples:\n {2}\$ .*postback /)]);
  }
  expect(Object.keys(EXAMPLES).sort()).toEqual([...commands.keys()].sort());
});

test('groups show an example of each of their commands', () => {
  for (const name of ['keys', 'deliveries', 'crews', 'index']) {
    const help = helpOf([...commands.values()].find(({ parent }) => parent?.name() === name)!.parent!);
    for (const [path, lines] of Object.entries(EXAMPLES)) {
      if (path.startsWith(`${name} `)) expect(help).toContain(lines[0]);
    }
  }
});

test('examples name options that exist', () => {
  for (const line of Object.values(EXAMPLES).flat()) {
    const whole = /(^| )postback /.test(line) ? line : `postback ${line}`;
    expect([line, problemsOf(whole)]).toEqual([line, []]);
  }
});

test('every command prints JSON when it is asked to, unless it prints nothing to read', () => {
  for (const [path, command] of commands) {
    const hasJson = command.options.some(({ long }) => long === '--json');
    expect([path, hasJson || path in WITHOUT_JSON]).toEqual([path, true]);
  }
  for (const path of Object.keys(WITHOUT_JSON)) expect([path, commands.has(path)]).toEqual([path, true]);
});
