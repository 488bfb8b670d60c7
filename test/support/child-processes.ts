import { readdir, readFile } from 'node:fs/promises';
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
  const found: number[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const [stat, command] = await Promise.all(
      ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
    );
    const itsParent = Number(stat!.slice(stat!.lastIndexOf(')')).split(' ')[2]);
    if (itsParent === parent && command!.includes('isolation/child') && command!.includes(work))
      found.push(Number(pid));
  }
  return found;
}
