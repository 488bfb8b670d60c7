import type { Checkpoints } from '../domain/checkpoints.js';
import type { ItemVersion } from '../domain/content/workflow-contract.js';
import type { Access } from './collections.js';
import { BY_ID } from './queries.js';
import { isDuplicateKey } from './transactions.js';

/** The result of one finished step (a page) of a running job or of an item version that is being indexed. */
export interface CheckpointRecord {
  /** `<owner>/<content>/<step>` */
  _id: string;
  org: string;
  /** The job's id, or `checkpointOwner` of an item version. */
  owner: string;
  /** JSON. */
  value: string;
  expires_at: Date;
}

export type CheckpointStore = ReturnType<typeof createCheckpointStore>;

/** Checkpoints are deleted when their work ends. Those left behind by a crash expire after this time. */
const TTL_MS = 7 * 24 * 60 * 60 * 1000;

/** Checkpoints in MongoDB, so that any worker can resume the work of one that died. */
export function createCheckpointStore({ checkpoints, now }: Access<'checkpoints' | 'now'>) {
  return {
    /**
     * @param owner a job's id, or `checkpointOwner` of an item version
     * @param content identifies the input, which may differ at the next attempt when it is read from a URL
     */
    of(org: string, owner: string, content = 'file'): Checkpoints {
      const own = checkpoints.forOrg(org);
      const id = (step: string) => `${owner}/${content}/${step}`;
      return {
        async load(step) {
          const found = await own.findOne({ _id: id(step) }, BY_ID);
          return found ? JSON.parse(found.value) : undefined;
        },
        async save(step, value) {
          const expires_at = new Date(now().getTime() + TTL_MS);
          const record = { _id: id(step), org, owner, value: JSON.stringify(value), expires_at };
          await own.insertOne(record).catch((error) => {
            if (!isDuplicateKey(error)) throw error;
          });
        },
      };
    },

    /** Deletes all checkpoints of an owner. */
    async drop(org: string, owner: string): Promise<void> {
      await checkpoints.forOrg(org).deleteMany({ owner });
    },
  };
}

/** Each version of an item has its own checkpoints, because a replacement is another file. */
export function checkpointOwner({ item, version }: ItemVersion): string {
  return `${item}/${version}`;
}
