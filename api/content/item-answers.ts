import type { ChunkRecord } from '../../storage/records/chunks.js';
import type { ItemRecord } from '../../storage/records/items.js';

/** An item as clients see it. */
export function describeItem(item: ItemRecord) {
  const { source } = item;
  return {
    id: item.id,
    database: item.database,
    collection: item.collection,
    type: item.type,
    title: item.title,
    indexing_status: item.indexing_status,
    error_code: item.error_code,
    error_message: item.error_message,
    metadata: item.metadata,
    additional_metadata: item.additional_metadata,
    source:
      source.kind === 'file'
        ? { kind: 'file' as const, filename: source.filename, mime_type: source.mime_type, size: source.size }
        : { kind: 'text' as const, size: item.bytes ?? null },
    created_at: item.created_at.toISOString(),
    updated_at: item.updated_at.toISOString(),
  };
}

/** A chunk as the item's page shows it; what its kind of document does not have is left out. */
export function describeChunk({ _id, text, headings, page, page_label, slide, slide_title, sheet, rows }: ChunkRecord) {
  return { chunk_id: _id, text, headings, page, page_label, slide, slide_title, sheet, rows };
}
