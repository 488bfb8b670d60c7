import type { Command } from 'commander';
import { withDetails } from './remote/server.js';

/** The function of a command. Commander does not know the types of arguments and options; each function states its own. */
// biome-ignore lint/suspicious/noExplicitAny: see above
type Run = (...argumentsThenOptions: any[]) => unknown;

/** Declares a command: its name with those of its arguments that need no description, and its function. */
type Declare<Module> = (usage: string, runOf: (module: Module) => Run) => Command;

/**
 * To declare commands whose functions are in one module. It is imported when one of them runs: the others start sooner.
 * Errors of a server get their code and the id of the request.
 */
export function commandsOf<Module>(parent: Command, load: () => Promise<Module>): Declare<Module> {
  return (usage, runOf) =>
    parent.command(usage).action(async (...passed) => {
      try {
        // Commander passes the command itself last.
        await runOf(await load())(...passed.slice(0, -1));
      } catch (error) {
        throw withDetails(error);
      }
    });
}

/** The same for commands that talk to a running server, with the options by which they find it. */
export function remoteCommandsOf<Module>(parent: Command, load: () => Promise<Module>): Declare<Module> {
  const declare = commandsOf(parent, load);
  return (...command) =>
    declare(...command)
      .option(
        '--profile <name>',
        'the server of this profile (default: POSTBACK_PROFILE, else POSTBACK_URL, else the instance in this folder)',
      )
      .option('--json', 'print JSON');
}
