import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Kills each child process of a worker that does this work, as soon as it appears, until the signal aborts. Needs /proc.
 * @param work part of the name of its module
 * @returns the number of killed processes
 */
export async function killChildren(worker: number, work: string, until: AbortSignal): Promise<number> {
  const killed = new Set<number>();
  while (!until.aborted) {
    for (const pid of await findChildren(worker, work)) {
      if (killed.has(pid)) continue;
      if (killProcess(pid)) killed.add(pid);
    }
    await wait(50);
  }
  return killed.size;
}

/** @returns false when the process had ended since it was found */
function killProcess(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** @returns the pids of a process's children that do this work. Needs /proc. @param work part of the name of its module */
export async function findChildren(parent: number, work: string): Promise<number[]> {
  const children = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  const found: number[] = [];
  for (const pid of children.trim().split(' ')) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes('isolation/child') && command.includes(work)) found.push(Number(pid));
  }
  return found;
}
