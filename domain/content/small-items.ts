/** Short texts and files of text, whose work is less than that of a workflow: those that arrive together are indexed together. */
import type { FileKind } from '../extraction.js';
import { groupByWorkflow, type OpenGroup, openGroup, type SizedWork } from '../group-limits.js';

/** Larger items are indexed step by step. */
const MAX_BYTES = 16 * 1024;
/** Files that are hardly more than their text. Those of other kinds can have many times as much text as bytes. */
const TEXT_KINDS: readonly FileKind[] = ['text', 'markdown'];
/** What decides how an item is indexed. */
export interface SizedSource {
  source: { kind: 'text' } | { kind: 'file'; file_kind: FileKind };
  bytes: number;
}

type SizedItem = SizedSource & SizedWork;

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
  const filling = new Map<string, { group: OpenGroup; positions: number[] }>();
  let count = 0;
  const close = ({ positions }: { positions: number[] }) => {
    if (positions.length === 1) return;
    for (const position of positions) numbers[position] = count;
    count += 1;
  };
  for (const [position, item] of items.entries()) {
    if (!isSmall(item)) continue;
    const { kind } = item.source;
    const last = filling.get(kind);
    if (last?.group.add(item)) {
      last.positions.push(position);
      continue;
    }
    if (last) close(last);
    const group = openGroup();
    group.add(item);
    filling.set(kind, { group, positions: [position] });
  }
  for (const last of filling.values()) close(last);
  return numbers;
}

/** @returns the items that one workflow indexes: a group, or one item. In the order of their first items */
export function workflowUnits<Item extends { batch: string; group?: number | undefined }>(
  items: readonly Item[],
): Item[][] {
  return groupByWorkflow(items, ({ batch, group }) => (group === undefined ? undefined : `${batch}/${group}`));
}
