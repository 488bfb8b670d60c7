import type { ChildProcess } from 'node:child_process';

/** @returns what the process writes to its pipes, up to now each time it is read */
export function outputOf({ stdout, stderr }: Pick<ChildProcess, 'stdout' | 'stderr'>): { out: string; err: string } {
  const output = { out: '', err: '' };
  stdout?.on('data', (chunk) => {
    output.out += chunk;
  });
  stderr?.on('data', (chunk) => {
    output.err += chunk;
  });
  return output;
}
