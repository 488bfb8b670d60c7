import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { identifySelf, isAlive, type ProcessIdentity } from '../runtime/process-identity.js';

/** A lock file holds who holds it, and what the holder wants others to know. */
type LockRecord<Note> = ProcessIdentity & { readonly note?: Note };

export interface LockFile<Note> {
  /** Tells the others something. */
  announce(note: Note): void;
  release(): void;
}

/**
 * Takes a lock file for this process, or gives the living process that holds it.
 * The file of a process that is gone is taken over, so nobody has to clean up after a crash.
 */
export function takeLockFile<Note>(path: string): { lock: LockFile<Note> } | { holder: LockRecord<Note> } {
  const own = identifySelf();
  while (!putInPlace(path, own)) {
    const holder = read<Note>(path);
    if (holder && isAlive(holder)) return { holder };
    setAside(path, holder);
  }
  return {
    lock: {
      announce: (note) => {
        const temporary = `${path}.${process.pid}`;
        writeFileSync(temporary, JSON.stringify({ ...own, note }), { mode: 0o600 });
        renameSync(temporary, path);
      },
      release: () => {
        const holder = read<Note>(path);
        if (holder?.pid === own.pid && holder.started === own.started) rmSync(path, { force: true });
      },
    },
  };
}

// A hard link is atomic and fails where the name is taken, and the file is never seen half written.
function putInPlace(path: string, record: ProcessIdentity): boolean {
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

// Between reading a stale file and removing it another process may have put its own there: look at what was moved.
function setAside(path: string, stale: ProcessIdentity | undefined): void {
  const aside = `${path}.stale-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    // Somebody else was quicker.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  const moved = read(aside);
  if (moved && moved.started !== stale?.started && isAlive(moved)) putInPlace(path, moved);
  rmSync(aside, { force: true });
}

function read<Note>(path: string): LockRecord<Note> | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockRecord<Note>;
  } catch {
    return undefined;
  }
}
