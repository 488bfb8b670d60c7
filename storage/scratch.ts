import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A process of this machine. `started` distinguishes it from a later process with the same pid. */
interface Owner {
  pid: number;
  started: string;
}

export interface ScratchOptions {
  /** The system's folder for temporary files. */
  dir: string;
  /** This process. */
  self: Owner;
  isAlive(owner: Owner): boolean;
}

export type Scratch = ReturnType<typeof createScratch>;

const PREFIX = 'postback';
const encode = (text: string) => Buffer.from(text).toString('base64url');
const decode = (text: string) => Buffer.from(text, 'base64url').toString();

/**
 * Temporary folders for work on files. The name of each folder contains its process, so that the folders of a killed
 * process can be removed. Each piece of work has its own folder, instead of one folder per process, because systems remove
 * temporary folders that are unused for days, and a worker may be idle for longer.
 */
export function createScratch({ dir, self, isAlive }: ScratchOptions) {
  const host = encode(hostname());
  const prefix = [PREFIX, host, self.pid, encode(self.started), ''].join('.');

  return {
    /** Creates a folder for the work and removes it when the work has finished or failed. */
    async use<T>(work: (folder: string) => Promise<T>): Promise<T> {
      const folder = await mkdtemp(join(dir, prefix));
      try {
        return await work(folder);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    },

    /** Removes the folders of processes of this host that have ended. @returns the number of folders */
    async removeAbandoned(): Promise<number> {
      const abandoned = (await readdir(dir)).filter((name) => {
        const [product, folderHost, pid, started, ...rest] = name.split('.');
        if (product !== PREFIX || folderHost !== host || started === undefined || rest.length !== 1) return false;
        return !isAlive({ pid: Number(pid), started: decode(started) });
      });
      const removals = abandoned.map((name) => rm(join(dir, name), { recursive: true, force: true }));
      // The folders of another user cannot be removed.
      return (await Promise.allSettled(removals)).filter(({ status }) => status === 'fulfilled').length;
    },
  };
}
