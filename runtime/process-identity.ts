import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** A process, by its pid and start time: the system may give the same pid to another process later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Opaque: compare for equality only. */
  readonly started: string;
}

/** @returns the identity of a running process; undefined when there is none, or it has ended and is a zombie */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = process.platform === 'linux' ? startedByProc(pid) : startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** @throws Error when the system does not list processes */
export function identifySelf(): ProcessIdentity {
  const own = identify(process.pid);
  if (!own) throw new Error('Cannot read the start time of this process from /proc or ps.');
  return own;
}

export function isAlive({ pid, started }: ProcessIdentity): boolean {
  return identify(pid)?.started === started;
}

function startedByProc(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command is in parentheses and may contain any character. After it, field 3 is the state, field 22 the start
    // time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

function startedByPs(pid: number): string | undefined {
  try {
    // ps prints the start time in the caller's time zone and language, so both are fixed.
    const env = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8', env }).trim() || undefined;
  } catch {
    return undefined;
  }
}
