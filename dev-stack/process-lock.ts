import { linkSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { identifySelf, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';
import { readJsonFile } from './json-file.js';

export interface ProcessLock {
  release(): void;
}

/**
 * Takes the lock file at `path` for this process, or returns the running process that holds it.
 * The lock of a process that is gone is taken over, so nobody has to clean up after a crash.
 */
export function acquireProcessLock(path: string): { lock: ProcessLock } | { holder: ProcessIdentity } {
  const self = identifySelf();
  while (!createExclusively(path, self)) {
    const holder = readJsonFile<ProcessIdentity>(path);
    if (holder && isAlive(holder)) return { holder };
    removeStale(path, holder);
  }
  const release = () => {
    const holder = readJsonFile<ProcessIdentity>(path);
    if (holder?.pid === self.pid && holder.started === self.started) rmSync(path, { force: true });
  };
  return { lock: { release } };
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
