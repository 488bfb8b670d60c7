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
 * @returns the number of the group of each item of a request; undefined for an item without a group
 */
export function groupNumbers(items: readonly SizedItem[]): (number | undefined)[] {
  const filling = new Map<string, { group: OpenGroup; number: number }>();
  let opened = 0;
  const numbers = items.map((item) => {
    if (!isSmall(item)) return undefined;
    const last = filling.get(item.source.kind);
    if (last?.group.add(item)) return last.number;
    const next = { group: openGroup(), number: opened++ };
    next.group.add(item);
    filling.set(item.source.kind, next);
    return next.number;
  });
  const members = Map.groupBy(numbers, (number) => number);
  return numbers.map((number) => (members.get(number)!.length > 1 ? number : undefined));
}

/** @returns the items that one workflow indexes: a group, or one item. In the order of their first items */
export function workflowUnits<Item extends { batch: string; group?: number | undefined }>(
  items: readonly Item[],
): Item[][] {
  return groupByWorkflow(items, ({ batch, group }) => (group === undefined ? undefined : `${batch}/${group}`));
}
