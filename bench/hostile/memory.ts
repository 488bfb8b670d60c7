import { readdirSync, readFileSync } from 'node:fs';

/** Pause between two samples. */
const EVERY_MS = 100;

/**
 * Samples the memory (`VmRSS`) of processes with all their children, from /proc; 0 without /proc.
 * @param pids by name; a process may be replaced after a crash
 */
export function watchMemory<Name extends string>(pids: Record<Name, () => number>) {
  const names = Object.keys(pids) as Name[];
  let peak = empty();
  const timer = setInterval(() => {
    const children = childrenByParent();
    for (const name of names) {
      const now = [...familyOf(pids[name](), children)].reduce((sum, pid) => sum + residentMiB(pid), 0);
      peak[name] = Math.max(peak[name], now);
    }
  }, EVERY_MS);

  function empty(): Record<Name, number> {
    return Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>;
  }

  return {
    /** @returns the peaks since the previous call, MiB */
    take(): Record<Name, number> {
      const taken = peak;
      peak = empty();
      return taken;
    },
    stop: () => clearInterval(timer),
  };
}

function* familyOf(pid: number, children: ReadonlyMap<number, number[]>): Generator<number> {
  yield pid;
  for (const child of children.get(pid) ?? []) yield* familyOf(child, children);
}

function childrenByParent(): Map<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : undefined;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

function parentOf(pid: string): number | undefined {
  return readOrUndefined(() => Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ')[1]));
}

function residentMiB(pid: number): number {
  const status = readOrUndefined(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? '';
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** Processes may end between two steps. */
function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
