import { Command, CommanderError } from 'commander';
import { runProcess } from '../runtime/process.js';
import { createProgram } from './program.js';

/** The exit code of a command that was used wrongly. A command that failed exits with 1. */
const WRONG_USE = 2;

const program = createProgram(new Command('postback').exitOverride());
await runProcess(async () => {
  try {
    await program.parseAsync();
  } catch (error) {
    // Commander has printed the message, or the requested help.
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : WRONG_USE;
  }
});

// A command ends with its result, whatever its libraries keep open: a file that is still being read, a connection.
await Promise.all([process.stdout, process.stderr].map(flush));
process.exit();

/** Resolves when all that was written has been passed on, or nobody reads it any more. */
function flush(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write('', () => resolve());
  });
}
