import type { Command } from 'commander';
import { createProgram } from '../../cli/program.js';

/** @returns what is wrong with a line that calls `postback`: an unknown command or option; nothing is run */
export function problemsOf(line: string): string[] {
  const words = line
    .replace(/^.*?\bpostback /, '')
    .split(/\s+/)
    .filter(Boolean);
  let command: Command = createProgram();
  const problems: string[] = [];
  for (const word of words) {
    const below = command.commands.find((each) => each.name() === word);
    if (below) command = below;
    else if (/^--\w/.test(word) && !command.options.some(({ long }) => long === word)) problems.push(word);
  }
  return command.parent === null ? [`no command: ${line}`] : problems;
}

/** The commands that do something, by their paths; groups are not among them. */
export function allCommands(): Map<string, Command> {
  const found = new Map<string, Command>();
  const walk = (command: Command, path: readonly string[]) => {
    for (const each of command.commands) walk(each, [...path, each.name()]);
    // Internal commands of the shell's completion are not shown.
    const isShown =
      command.parent === null || command.parent.createHelp().visibleCommands(command.parent).includes(command);
    const acts = command.commands.length === 0 || command.options.length > 0;
    if (path.length > 0 && isShown && acts) found.set(path.join(' '), command);
  };
  walk(createProgram(), []);
  return found;
}

/** What `--help` prints. */
export function helpOf(command: Command): string {
  let text = '';
  command.configureOutput({
    writeOut: (part) => {
      text += part;
    },
  });
  command.outputHelp();
  return text;
}
