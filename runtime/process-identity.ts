import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process and when it began: a pid alone may have been given to another process since. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque; equal only for the same process. */
  readonly started: string;
}

/** The identity of a running process, or undefined when there is none (or only its unreaped rest). */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startedByProc(pid) : startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** @throws Error where the system shows no processes */
export function identifySelf(): ProcessIdentity {
  const own = identify(process.pid);
  if (!own) throw new Error('This process cannot find itself in the process table.');
  return own;
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

function startedByProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the command in parentheses, which may hold anything: field 3 is the state, field 22 the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startedByPs(pid: number): string | undefined {
  try {
    // Written by the zone and the language of whoever asks, so these have to be the same for all.
    const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env }).trim() || undefined;
  } catch {
    return undefined;
  }
}
