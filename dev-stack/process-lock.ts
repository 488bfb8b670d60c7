import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identifySelf, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';
import { readJsonFile } from './json-file.js';

/** Content of a lock file: the process that holds the lock, and a note it has published for other processes. */
type LockRecord<Note> = ProcessIdentity & { readonly note?: Note };

export interface ProcessLock<Note> {
  /** Stores a note in the lock file, for processes that find the lock taken. */
  publish(note: Note): void;
  release(): void;
}

/**
 * Takes the lock file at `path` for this process, or returns the running process that holds it.
 * The lock of a process that is gone is taken over, so nobody has to clean up after a crash.
 */
export function acquireProcessLock<Note>(path: string): { lock: ProcessLock<Note> } | { holder: LockRecord<Note> } {
  const self = identifySelf();
  while (!createExclusively(path, self)) {
    const holder = readJsonFile<LockRecord<Note>>(path);
    if (holder && isAlive(holder)) return { holder };
    removeStale(path, holder);
  }
  return {
    lock: {
      publish: (note) => {
        const temporary = `${path}.${process.pid}`;
        writeFileSync(temporary, JSON.stringify({ ...self, note }), { mode: 0o600 });
        renameSync(temporary, path);
      },
      release: () => {
        const holder = readJsonFile<LockRecord<Note>>(path);
        if (holder?.pid === self.pid && holder.started === self.started) rmSync(path, { force: true });
      },
    },
  };
}

// A hard link is atomic, fails when the name is taken, and never shows a half-written file.
function createExclusively(path: string, record: ProcessIdentity): boolean {
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 });
  try {
    linkSync(temporary, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temporary, { force: true });
  }
}

// Another process may replace the stale file after it was read. So the file is moved first, checked, and put back when
// its holder is alive.
function removeStale(path: string, stale: ProcessIdentity | undefined): void {
  const stalePath = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, stalePath);
  } catch (error) {
    // Another process has removed it already.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = readJsonFile<ProcessIdentity>(stalePath);
  if (moved && moved.started !== stale?.started && isAlive(moved)) createExclusively(path, moved);
  rmSync(stalePath, { force: true });
}

/** Published in the lock file once the instance is ready. */
interface InstanceNote {
  readonly api_url: string;
}

/** Held while Postback runs in a data folder. */
type DataFolderLock = ProcessLock<InstanceNote>;

/** Another Postback process uses the data folder. */
export class AlreadyRunningError extends Error {
  readonly pid: number;
  readonly apiUrl: string | undefined;

  constructor(pid: number, apiUrl: string | undefined) {
    super(`Postback is already running in this folder (process ${pid}${apiUrl ? `, ${apiUrl}` : ''}).`);
    this.name = 'AlreadyRunningError';
    this.pid = pid;
    this.apiUrl = apiUrl;
  }
}

/**
 * Makes this process the only instance that uses a data folder. Takes over the lock of a process that is gone.
 * @throws AlreadyRunningError when a running process holds the lock
 */
export function lockDataFolder(dataDir: string): DataFolderLock {
  mkdirSync(dataDir, { recursive: true });
  const result = acquireProcessLock<InstanceNote>(join(dataDir, 'instance.json'));
  if ('holder' in result) throw new AlreadyRunningError(result.holder.pid, result.holder.note?.api_url);
  return result.lock;
}
