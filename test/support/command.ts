import { format } from 'node:util';
import { Command, CommanderError } from 'commander';
import { createProgram } from '../../cli/program.js';

export interface CommandResult {
  code: number;
  out: string;
  err: string;
}

/**
 * Runs a `postback` command in this process, which costs a tenth of a process of its own. Commands run one at a time,
 * because they read the environment and write to the console.
 * @param env variables in addition to those of this process
 */
export async function runCommand(args: readonly string[], env: Record<string, string>): Promise<CommandResult> {
  const result = { code: 0, out: '', err: '' };
  const { log, error } = console;
  const before = { ...process.env };
  const { exitCode } = process;
  console.log = (...values) => {
    result.out += `${format(...values)}\n`;
  };
  console.error = (...values) => {
    result.err += `${format(...values)}\n`;
  };
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (text) => {
    result.out += text;
    return true;
  };
  Object.assign(process.env, env);
  // A command that waits for signals lets its process end without its parent. Of a test process this would hold for ever, because
  // Node counts who needs the channel only until it is told otherwise.
  const { channel } = process;
  process.channel = undefined;
  try {
    const program = new Command('postback').exitOverride().configureOutput({
      writeOut: (text) => {
        result.out += text;
      },
      writeErr: (text) => {
        result.err += text;
      },
    });
    await createProgram(program).parseAsync(args, { from: 'user' });
    result.code = Number(process.exitCode ?? 0);
  } catch (failure) {
    if (failure instanceof CommanderError) result.code = failure.exitCode;
    else {
      result.code = 1;
      result.err += `postback: ${(failure as Error).message}\n`;
    }
  } finally {
    Object.assign(console, { log, error });
    process.stdout.write = write;
    process.exitCode = exitCode;
    process.channel = channel;
    for (const name of Object.keys(env)) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
  }
  return result;
}
