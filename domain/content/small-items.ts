/** Short texts and files of text, whose work is less than that of a workflow: those of one request are indexed together. */
import type { FileKind } from '../extraction.js';

/** Larger items are indexed step by step. */
const MAX_BYTES = 16 * 1024;
/** Files that are hardly more than their text. Those of other kinds can have many times as much text as bytes. */
const TEXT_KINDS: readonly FileKind[] = ['text', 'markdown'];
/**
 * Limits of a group. The bytes keep it short: their chunks are embedded in about a second. The ids must fit in a search
 * attribute of its workflow, which Temporal limits to 2 KiB.
 */
const GROUP = { items: 32, bytes: 32 * 1024, idBytes: 1_800 };

/** What decides how an item is indexed. */
export interface SizedSource {
  source: { kind: 'text' } | { kind: 'file'; file_kind: FileKind };
  bytes: number;
}

interface SizedItem extends SizedSource {
  id: string;
}

/** Whether an item is indexed in one activity. */
export function isSmall({ source, bytes }: SizedSource): boolean {
  return bytes <= MAX_BYTES && (source.kind === 'text' || TEXT_KINDS.includes(source.file_kind));
}

/**
 * Files wait for the file store and for the processes that read them, so they are in groups of their own.
 * @returns the number of the group of each item of a request, from 0; undefined for an item without a group
 */
export function groupNumbers(items: readonly SizedItem[]): (number | undefined)[] {
  const numbers: (number | undefined)[] = items.map(() => undefined);
  const open = new Map<string, { positions: number[]; bytes: number; idBytes: number }>();
  let count = 0;
  const close = (kind: string) => {
    const { positions } = open.get(kind)!;
    if (positions.length > 1) {
      for (const position of positions) numbers[position] = count;
      count += 1;
    }
    open.delete(kind);
  };
  for (const [position, item] of items.entries()) {
    if (!isSmall(item)) continue;
    const { kind } = item.source;
    const idBytes = Buffer.byteLength(JSON.stringify(item.id)) + 1;
    const last = open.get(kind);
    const full =
      last &&
      (last.positions.length === GROUP.items ||
        last.bytes + item.bytes > GROUP.bytes ||
        last.idBytes + idBytes > GROUP.idBytes);
    if (full) close(kind);
    const group = open.get(kind) ?? { positions: [], bytes: 0, idBytes: 0 };
    open.set(kind, group);
    group.positions.push(position);
    group.bytes += item.bytes;
    group.idBytes += idBytes;
  }
  for (const kind of [...open.keys()]) close(kind);
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
