/**
 * Limits of a group of small work that shares a workflow. The bytes keep it short: the chunks of so much text are embedded in
 * about a second. The ids must fit in a search attribute of the workflow, which Temporal limits to 2 KiB.
 */
const GROUP = { members: 64, bytes: 32 * 1024, idBytes: 1_800 };

/** What decides whether work fits in a group. */
export interface SizedWork {
  id: string;
  bytes: number;
}

export type OpenGroup = ReturnType<typeof openGroup>;

/** A group that is being filled. */
export function openGroup() {
  const ids = new Set<string>();
  let bytes = 0;
  let idBytes = 0;
  return {
    /**
     * Adds a member if there is room for it; the first always has room. Two with the same id, which are versions of one item,
     * never are in one group.
     */
    add(work: SizedWork): boolean {
      const idBytesAfter = idBytes + Buffer.byteLength(JSON.stringify(work.id)) + 1;
      const fits = ids.size < GROUP.members && bytes + work.bytes <= GROUP.bytes && idBytesAfter <= GROUP.idBytes;
      if (ids.size > 0 && (!fits || ids.has(work.id))) return false;
      ids.add(work.id);
      bytes += work.bytes;
      idBytes = idBytesAfter;
      return true;
    },
  };
}

/**
 * @param groupOf the key of a record's group; undefined for a record without a group
 * @returns the records that share a workflow: a group, or one record. In the order of their first records
 */
export function groupByWorkflow<Entry>(
  records: readonly Entry[],
  groupOf: (record: Entry) => string | undefined,
): Entry[][] {
  return [...Map.groupBy<unknown, Entry>(records, (record) => groupOf(record) ?? record).values()];
}
