import { readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** Against a busy process of the product, a task gets a quarter of a core. */
const NICENESS = 5;

/**
 * A process that has just been started gets the processor time that the product leaves, and where the system kills a process
 * because memory is short, it takes this one. It cannot do so itself: it has no access to /proc.
 */
export function preferOthers(pid: number): void {
  try {
    setPriority(pid, NICENESS);
    // On Linux, a priority belongs to a thread. Later threads inherit that of the first.
    for (const thread of readdirSync(`/proc/${pid}/task`)) setPriority(Number(thread), NICENESS);
    writeFileSync(`/proc/${pid}/oom_score_adj`, '1000');
  } catch {
    // Only Linux has these files, and the process may have ended.
  }
}
