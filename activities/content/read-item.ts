import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Checkpoints, noCheckpoints } from '../../domain/checkpoints.js';
import { type Chunk, chunkSections } from '../../domain/content/chunking.js';
import type { FileStore } from '../../domain/file-store.js';
import { type Extractor, SMALL_TEXT_BYTES } from '../../providers/extraction/index.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Scratch } from '../../storage/scratch.js';

export interface ReadItemDependencies {
  files: Pick<FileStore, 'copyTo'>;
  scratch: Scratch;
  extractor: Pick<Extractor, 'extractChunks'>;
}

/**
 * Reads an item and divides its text into chunks. A short text is divided here, where its cost is bounded; everything else is read in
 * another process.
 * @param store takes some chunks in order, with the title that a file has itself; the next ones wait for it
 * @throws as `Extractor.extractChunks`; FileStoreError
 */
export async function readItem(
  { files, scratch, extractor }: ReadItemDependencies,
  { source, org }: Pick<ItemRecord, 'source' | 'org'>,
  store: (title: string | null, chunks: Chunk[]) => Promise<void>,
  signal: AbortSignal,
  checkpoints: Checkpoints = noCheckpoints,
): Promise<void> {
  if (source.kind === 'text' && source.text.length <= SMALL_TEXT_BYTES) {
    return store(null, [...chunkSections({ sections: [{ text: source.text, headings: [] }] })]);
  }
  await scratch.use(async (folder) => {
    const path = join(folder, 'file');
    if (source.kind === 'text') await writeFile(path, source.text);
    else await files.copyTo(source.file_id, path);
    const kind = source.kind === 'text' ? 'item-text' : source.file_kind;
    const language = source.kind === 'text' ? undefined : source.language;
    await extractor.extractChunks({ path, kind, language, org }, store, signal, checkpoints);
  });
}
