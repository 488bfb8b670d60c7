import type { Collection } from 'mongodb';
import type { Parts } from '../domain/checkpoints.js';
import type { ItemRef } from '../domain/content/workflow-contract.js';
import { isDuplicateKey } from './transactions.js';

/** A finished part (page) of a job, or of a version of an item, under way. */
export interface PartRecord {
  /** Owner and part. */
  _id: string;
  /** The job's id, or the item's with its version. */
  owner: string;
  value: string;
  expires_at: Date;
}

export type PartsStore = ReturnType<typeof createPartsStore>;

/** Parts are dropped when their work ends; what a death at the wrong moment leaves behind goes after this long. */
const KEPT_MS = 7 * 24 * 60 * 60 * 1000;

/** Finished parts (pages) of work under way, for whoever takes it up after a worker's death. */
export function createPartsStore({ parts }: { parts: Collection<PartRecord> }) {
  return {
    /**
     * @param owner a job's id, or `partsOwner` of an item
     * @param content tells the input from another that its address may give the next time
     */
    of(owner: string, content = 'file'): Parts {
      const id = (part: string) => `${owner}/${content}/${part}`;
      return {
        async load(part) {
          const found = await parts.findOne({ _id: id(part) });
          return found ? JSON.parse(found.value) : undefined;
        },
        async save(part, value) {
          const expires_at = new Date(Date.now() + KEPT_MS);
          const record = { _id: id(part), owner, value: JSON.stringify(value), expires_at };
          await parts.insertOne(record).catch((error) => {
            if (!isDuplicateKey(error)) throw error;
          });
        },
      };
    },

    async drop(owner: string): Promise<void> {
      await parts.deleteMany({ owner });
    },
  };
}

/** Each version of an item has parts of its own: a replacement is another file. */
export function partsOwner({ item, version }: ItemRef): string {
  return `${item}/${version}`;
}
