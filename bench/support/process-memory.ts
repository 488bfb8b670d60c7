import { readdirSync, readFileSync } from 'node:fs';

/** Memory of a process, MiB. */
export interface ProcessMemory {
  pid: number;
  name: string;
  /** Resident memory. Pages that processes share, such as those of the same program, count in each of them. */
  rss: number;
  /** The part that is not backed by files, and so belongs to this process alone. */
  anonymous: number;
  /** The rest, by file. */
  files: ReadonlyMap<string, number>;
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
  ['start', /^\S*node \S*postback\.mjs start/],
  ['npm', /^npm/],
];

/** The memory of a process and of all its descendants, from Linux's /proc. */
export function readProcessTree(pid: number): ProcessMemory[] {
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
    const name = NAMES.find(([, pattern]) => pattern.test(command))?.[0] ?? command.slice(0, 12);
    return [{ pid, name, ...readMappings(pid) }, ...childrenOf(pid).flatMap(readProcessTree)];
  } catch {
    // It has ended.
    return [];
  }
}

/** What the processes take together, when each page of a file counts once. */
export function sharedOnce(processes: readonly ProcessMemory[]): number {
  const files = new Map<string, number>();
  for (const process of processes) {
    for (const [file, size] of process.files) files.set(file, Math.max(files.get(file) ?? 0, size));
  }
  const sum = (sizes: Iterable<number>) => [...sizes].reduce((total, size) => total + size, 0);
  return sum(processes.map(({ anonymous }) => anonymous)) + sum(files.values());
}

function readMappings(pid: number): Pick<ProcessMemory, 'rss' | 'anonymous' | 'files'> {
  let rss = 0;
  let anonymous = 0;
  let file = '';
  const files = new Map<string, number>();
  for (const line of readFileSync(`/proc/${pid}/smaps`, 'utf8').split('\n')) {
    const mapping = /^[\da-f]+-[\da-f]+ \S+ \S+ \S+ \d+ *(.*)$/.exec(line);
    if (mapping) file = mapping[1]!;
    const [, field, size] = /^(Rss|Anonymous): +(\d+) kB/.exec(line) ?? [];
    const mebibytes = Number(size) / 1024;
    if (field === 'Rss') {
      rss += mebibytes;
      files.set(file, (files.get(file) ?? 0) + mebibytes);
    } else if (field === 'Anonymous') {
      anonymous += mebibytes;
      files.set(file, files.get(file)! - mebibytes);
    }
  }
  return { rss, anonymous, files };
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
