import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Env } from './downloads.js';

const execFileAsync = promisify(execFile);

/** The command is not installed. */
export class CommandMissing extends Error {}

/**
 * Runs a short command and returns its standard output.
 * @throws CommandMissing when the command is not installed, or Error with the last lines the command printed
 */
export async function runCommand(
  command: string,
  args: readonly string[],
  env: Env,
  timeoutMs: number,
): Promise<string> {
  try {
    const { stdout } = await execFileAsync(command, args, { env, timeout: timeoutMs, maxBuffer: 16 << 20 });
    return stdout;
  } catch (error) {
    const failure = error as NodeJS.ErrnoException & { stdout?: string; stderr?: string; killed?: boolean };
    if (failure.code === 'ENOENT') throw new CommandMissing(`${command} is not installed`);
    if (failure.killed) throw new Error(`${command} took longer than ${timeoutMs / 1000} s`);
    throw new Error(lastLines(`${failure.stderr || failure.stdout || failure.message}`, 3));
  }
}

/** The last non-empty lines of a text, joined to one line. */
export function lastLines(text: string, count: number): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  return lines.slice(-count).join(' | ').slice(-600);
}
