import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A process of this machine; `started` tells it from a later one that was given the same pid. */
interface Owner {
  pid: number;
  started: string;
}

export interface ScratchOptions {
  /** The system's folder for temporary files. */
  dir: string;
  own: Owner;
  isAlive(owner: Owner): boolean;
}

export type Scratch = ReturnType<typeof createScratch>;

const PREFIX = 'postback';
const encode = (text: string) => Buffer.from(text).toString('base64url');
const decode = (text: string) => Buffer.from(text, 'base64url').toString();

/**
 * Temporary folders for work on files. Each carries the name of its process, so that what a killed one has left can be
 * told from what another is at work in. They lie apart, not in one folder of the process: systems remove what lies
 * untouched among temporary files for days, and a worker may be idle for longer.
 */
export function createScratch({ dir, own, isAlive }: ScratchOptions) {
  const host = encode(hostname());
  const prefix = [PREFIX, host, own.pid, encode(own.started), ''].join('.');

  return {
    /** Gives the work a folder of its own, which is removed when the work has ended. */
    async use<T>(work: (folder: string) => Promise<T>): Promise<T> {
      const folder = await mkdtemp(join(dir, prefix));
      try {
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },

    /** Removes the folders of processes of this host that are gone. @returns how many */
    async removeAbandoned(): Promise<number> {
      const abandoned = (await readdir(dir)).filter((name) => {
        const [product, madeAt, pid, started, ...rest] = name.split('.');
        if (product !== PREFIX || madeAt !== host || started === undefined || rest.length !== 1) return false;
        return !isAlive({ pid: Number(pid), started: decode(started) });
      });
      const removals = abandoned.map((name) => rm(join(dir, name), { recursive: true, force: true }));
      // Another user's are that user's to remove.
      return (await Promise.allSettled(removals)).filter(({ status }) => status === 'fulfilled').length;
    },
  };
}
