import { sha256Hex } from './ids.js';

/** What an item is made of; two items that agree in all of it are indexed to the same. */
export interface HashedContent {
  collection: string;
  type: string;
  title: string | null;
  /** The text, or the SHA-256 of a file's bytes with the file's name. */
  source: { text: string } | { sha256: string; filename: string };
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
}

/** @returns SHA-256, hex; the order of fields does not matter */
export function contentHash(content: HashedContent): string {
  return sha256Hex(
    JSON.stringify(content, (_name, value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value,
    ),
  );
}
