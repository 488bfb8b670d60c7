import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * Kills each child process of a worker that does this work, as soon as it appears, until the signal aborts. Needs /proc.
 * @param work part of the name of its module
 * @returns the number of killed processes
 */
export async function killChildren(worker: number, work: string, until: AbortSignal): Promise<number> {
  const killed = new Set<string>();
  while (!until.aborted) {
    const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && !killed.has(name));
    for (const pid of pids) {
      const [stat, command] = await Promise.all(
        ['stat', 'cmdline'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
      );
      const parent = Number(stat!.slice(stat!.lastIndexOf(')')).split(' ')[2]);
      if (parent !== worker || !command!.includes('isolation/child') || !command!.includes(work)) continue;
      process.kill(Number(pid), 'SIGKILL');
      killed.add(pid);
    }
    await wait(50);
  }
  return killed.size;
}
