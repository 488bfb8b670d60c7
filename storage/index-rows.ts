import { isDeepStrictEqual } from 'node:util';
import { indexedMetadata } from '../domain/indexed-metadata.js';
import type { SearchIndex } from '../domain/search.js';
import type { ItemRef } from '../domain/work.js';
import { type Chunks, indexRow, unpackVector } from './chunks.js';
import type { Databases } from './databases.js';
import type { Items } from './items.js';

/**
 * Writes the index rows of a completed item again, after something in them has changed. Whoever comes last makes sure
 * that the rows say what the item says, however many change it at the same time.
 */
export async function refreshIndexRows(
  { databases, items, chunks, index }: { databases: Databases; items: Items; chunks: Chunks; index: SearchIndex },
  ref: ItemRef,
): Promise<void> {
  for (;;) {
    const item = await items.get(ref);
    if (item?.indexing_status !== 'completed') return;
    const schema = await databases.metadataSchema(item.tenant);
    const metadata = indexedMetadata(schema, item.metadata, item.additional_metadata);
    const found = await chunks.of(ref);
    const ids = found.map(({ _id }) => _id);
    await index.write(
      item.tenant,
      found.map((chunk) => indexRow(chunk, chunk.vector ? unpackVector(chunk.vector) : null, metadata)),
      ids,
    );
    const after = await items.get(ref);
    if (!after) {
      // Replaced or deleted meanwhile, and these rows may have come after their removal.
      await index.write(item.tenant, [], ids);
      return;
    }
    if (isDeepStrictEqual(fieldsOf(after), fieldsOf(item))) return;
  }
}

const fieldsOf = ({ metadata, additional_metadata }: { metadata: unknown; additional_metadata: unknown }) => [
  metadata,
  additional_metadata,
];
