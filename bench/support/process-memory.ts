import { readdirSync, readFileSync } from 'node:fs';

/** Memory of a process, MiB. */
export interface ProcessMemory {
  pid: number;
  name: string;
  /** Resident memory. Pages that processes share, such as those of the same program, count in each of them. */
  rss: number;
  /** The part that is not backed by files, and so belongs to this process alone. */
  anonymous: number;
}

/** What the command lines of the processes contain, the most telling first. */
const NAMES: readonly (readonly [string, RegExp])[] = [
  ['supervisor', /dev-stack\/supervisor\.js/],
  ['mongod', /mongod\S* --dbpath/],
  ['temporal', /server start-dev/],
  ['graph', /providers\/graph\//],
  ['parser', /isolation\/child\.js/],
  ['api', /api\/main\.js/],
  ['worker', /worker\/main\.js/],
  ['embedder', /embedder\/main\.js/],
  ['start', /postback\.mjs start/],
  ['npm', /^npm/],
];

/** The memory of a process and of all its descendants, from Linux's /proc. */
export function readProcessTree(pid: number): ProcessMemory[] {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    const mebibytes = (field: string) => Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) / 1024;
    const name = NAMES.find(([, pattern]) => pattern.test(command))?.[0] ?? command.slice(0, 12);
    const own = { pid, name, rss: mebibytes('VmRSS'), anonymous: mebibytes('RssAnon') };
    return [own, ...childrenOf(pid).flatMap(readProcessTree)];
  } catch {
    // It has ended.
    return [];
  }
}

/** Ids of the child processes, from /proc; none without /proc. */
export function childrenOf(pid: number): number[] {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    const lists = threads.map((thread) => readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8'));
    return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  } catch {
    return [];
  }
}
