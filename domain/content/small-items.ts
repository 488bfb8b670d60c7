/** Short texts, whose work is less than that of a workflow: those of one request are indexed together. */

/** Larger texts and files are indexed step by step. */
const MAX_BYTES = 8 * 1024;
/**
 * Limits of a group. The bytes keep it short: their chunks are embedded in about a second. The ids must fit in a search
 * attribute of its workflow, which Temporal limits to 2 KiB.
 */
const GROUP = { items: 32, bytes: 32 * 1024, idBytes: 1_800 };

interface SizedItem {
  id: string;
  source: { kind: 'file' | 'text' };
  bytes: number;
}

/** Whether an item is indexed in one activity. */
export function isSmall({ source, bytes }: Pick<SizedItem, 'source' | 'bytes'>): boolean {
  return source.kind === 'text' && bytes <= MAX_BYTES;
}

/** @returns the number of the group of each item of a request, from 0; undefined for an item without a group */
export function groupNumbers(items: readonly SizedItem[]): (number | undefined)[] {
  const numbers: (number | undefined)[] = items.map(() => undefined);
  let open: { positions: number[]; bytes: number; idBytes: number } | undefined;
  let count = 0;
  const close = () => {
    if (open && open.positions.length > 1) {
      for (const position of open.positions) numbers[position] = count;
      count += 1;
    }
    open = undefined;
  };
  for (const [position, item] of items.entries()) {
    if (!isSmall(item)) continue;
    const idBytes = Buffer.byteLength(JSON.stringify(item.id)) + 1;
    const full =
      open &&
      (open.positions.length === GROUP.items ||
        open.bytes + item.bytes > GROUP.bytes ||
        open.idBytes + idBytes > GROUP.idBytes);
    if (full) close();
    open ??= { positions: [], bytes: 0, idBytes: 0 };
    open.positions.push(position);
    open.bytes += item.bytes;
    open.idBytes += idBytes;
  }
  close();
  return numbers;
}

/** @returns the items that one workflow indexes: a group, or one item. In the order of their first items */
export function workflowUnits<Item extends { batch: string; group?: number | undefined }>(
  items: readonly Item[],
): Item[][] {
  const units: Item[][] = [];
  const groups = new Map<string, Item[]>();
  for (const item of items) {
    const key = `${item.batch}/${item.group}`;
    const unit = item.group === undefined ? undefined : groups.get(key);
    if (unit) {
      unit.push(item);
      continue;
    }
    units.push([item]);
    if (item.group !== undefined) groups.set(key, units.at(-1)!);
  }
  return units;
}
