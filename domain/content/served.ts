/** What readers see of an item while its newest version is not complete: the version before. */
interface Versions {
  version: number;
  /** The version that queries and reads return; null before the first is complete. */
  served_version: number | null;
  /** The content of the served version while it is not the newest version. */
  served?: object | undefined;
}

/** @returns the item with the content of its served version; the item itself when that is the newest or there is none */
export function asServed<Item extends Versions>(item: Item): Item {
  return item.served ? { ...item, ...item.served } : item;
}
