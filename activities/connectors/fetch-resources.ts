import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { SourceError } from '../../domain/connectors/connectors.js';
import { type DetectKind, ExtractionError, ITEM_ERRORS } from '../../domain/extraction.js';
import type { FileOwner, FileStore } from '../../domain/file-store.js';
import { newFileId } from '../../domain/ids.js';
import { mapConcurrently } from '../../domain/map-concurrently.js';
import type { AddedUse } from '../../domain/quotas.js';
import type { FetchResult, Source } from '../../providers/connectors/index.js';
import type { ConnectorRecord } from '../../storage/connectors/connectors.js';
import { type ConnectorResourceRecord, itemIdOf, type ResourceResult } from '../../storage/connectors/resources.js';
import { addedUse, type ItemQueue, queuedItem, unservedFiles } from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import type { Scratch } from '../../storage/scratch.js';
import { detectLocalFile, sha256OfFile } from '../local-file.js';

export interface ResourceFetcherDependencies {
  itemQueue: Pick<ItemQueue, 'findExisting'>;
  files: Pick<FileStore, 'claim' | 'remove' | 'write'>;
  scratch: Scratch;
  detectKind: DetectKind;
  now: () => Date;
}

/** A due resource with the result of its fetch, and its stored content when that is new or changed. */
export interface FetchedResource {
  resource: ConnectorResourceRecord;
  result: ResourceResult;
  content?: Pick<ItemRecord, 'title' | 'source' | 'additional_metadata'> & { file_id: string };
}

/** Where content goes: the local file it is fetched to, and the batch and organisation it is stored for. */
interface Target {
  connector: ConnectorRecord;
  path: string;
  batch: string;
}

/** Fetches resources and makes queued items of them. A resource that cannot be fetched keeps its item. */
export function createResourceFetcher(deps: ResourceFetcherDependencies) {
  const { itemQueue, files, scratch, detectKind, now: clock } = deps;
  return {
    /**
     * Fetches resources, as many at the same time as the source allows. An error is the result of its resource.
     * @param open opens the source with a temporary folder
     */
    async fetchAll(
      connector: ConnectorRecord,
      open: (folder: string) => Source,
      due: readonly ConnectorResourceRecord[],
      batch: string,
      signal: AbortSignal,
    ): Promise<FetchedResource[]> {
      return scratch.use((folder) => {
        const source = open(folder);
        return mapConcurrently(due, source.concurrency, signal, async (resource, stop, n) => {
          const path = join(folder, String(n));
          const fetched = await fetchOne(source, resource, { connector, path, batch }, stop);
          await rm(path, { force: true });
          return fetched;
        });
      });
    },

    /** @returns the items to queue, what they add to the use of the organisation, and the files of replaced versions that were not served */
    async toItems(
      { org, database_id, database, collection }: ConnectorRecord,
      fetched: readonly FetchedResource[],
      batch: string,
    ): Promise<{ queued: ItemRecord[]; added: AddedUse; replacedFiles: string[] }> {
      const stored = fetched.flatMap(({ result, content }) => (content ? [{ id: result.item_id!, content }] : []));
      const ids = stored.map(({ id }) => id);
      const found = await itemQueue.findExisting({ _id: database_id, org }, collection, ids);
      const existing = new Map(found.map((item) => [item.id, item]));
      const now = clock();
      const common = { org, database_id, database, collection, batch, type: 'knowledge', metadata: {} } as const;
      const queued = stored.map(({ id, content: { file_id: _, ...content } }) =>
        queuedItem({ ...common, id, ...content }, existing.get(id), now),
      );
      const replacedFiles = unservedFiles([...existing.values()]);
      return { queued, added: addedUse(queued, existing), replacedFiles };
    },

    /** Call when the items are queued: keeps their files and deletes those of the replaced versions. */
    async keepFiles(owner: FileOwner, fetched: readonly FetchedResource[], replacedFiles: readonly string[]) {
      if (fetched.some(({ content }) => content)) await files.claim(owner);
      for (const file of replacedFiles) await files.remove(file);
    },

    /** Call when the items could not be queued. */
    async discardFiles(fetched: readonly FetchedResource[]): Promise<void> {
      for (const { content } of fetched) if (content) await files.remove(content.file_id);
    },
  };

  async function fetchOne(
    source: Source,
    resource: ConnectorResourceRecord,
    target: Target,
    signal: AbortSignal,
  ): Promise<FetchedResource> {
    const { _id, key, item_id } = resource;
    try {
      // Only a version whose content was read may be reported as unchanged, and where links are followed, whose links were.
      const isRead = resource.hash !== null && (resource.links !== undefined || !followsLinks(target.connector));
      const validators = isRead ? { etag: resource.etag, last_modified: resource.last_modified } : {};
      const fetched = await source.fetch({ key, ...validators }, target.path, signal);
      if (fetched.state === 'unchanged') return { resource, result: unchanged(resource, {}) };
      if (fetched.state === 'gone') {
        if (item_id !== null) return { resource, result: { _id, outcome: 'gone' } };
        throw new SourceError('NOT_FOUND');
      }
      const version = {
        etag: resource.listed_etag ?? fetched.etag,
        last_modified: fetched.last_modified,
        ...(fetched.links ? { links: fetched.links } : {}),
      };
      const hash = await sha256OfFile(target.path);
      if (hash === resource.hash) return { resource, result: unchanged(resource, version) };
      return await storeContent(resource, fetched, { ...version, hash }, target);
    } catch (error) {
      if (signal.aborted || !(error instanceof SourceError)) throw error;
      return { resource, result: failed(resource, error) };
    }
  }

  async function storeContent(
    resource: ConnectorResourceRecord,
    { filename, title, url }: Extract<FetchResult, { state: 'content' }>,
    version: Partial<ResourceResult>,
    { connector, path, batch }: Target,
  ): Promise<FetchedResource> {
    const { _id, key, item_id } = resource;
    const detected = await detectLocalFile(detectKind, path, filename).catch((error: unknown) => {
      if (error instanceof ExtractionError) return error;
      throw error;
    });
    // The version is stored with the error, so it is not fetched again. The item of the version before stays.
    if (detected instanceof ExtractionError) return { resource, result: { ...failed(resource, detected), ...version } };
    const file_id = newFileId();
    await pipeline(createReadStream(path), (pieces) => files.write(file_id, { org: connector.org, batch }, pieces));
    const { size } = await stat(path);
    const { kind: file_kind, mime_type } = detected;
    const outcome = item_id === null ? 'new' : 'changed';
    return {
      resource,
      result: { _id, ...version, outcome, item_id: itemIdOf(connector._id, key) },
      content: {
        file_id,
        title: title?.slice(0, 500) ?? null,
        source: { kind: 'file', file_id, filename, file_kind, mime_type, size },
        additional_metadata: { source: url, connector_id: connector._id, ...(key === url ? {} : { resource: key }) },
      },
    };
  }
}

/** Whether the links of pages lead to further resources. */
export function followsLinks({ settings }: Pick<ConnectorRecord, 'settings'>): boolean {
  return 'follow_links' in settings && settings.follow_links;
}

/** Content that was rejected for its format stays rejected while it is unchanged. */
function unchanged({ _id, error }: ConnectorResourceRecord, version: Partial<ResourceResult>): ResourceResult {
  const rejected = error !== undefined && error.code in ITEM_ERRORS;
  return { _id, ...version, outcome: rejected ? 'failed' : 'unchanged', keepError: rejected };
}

function failed(
  { _id }: ConnectorResourceRecord,
  { code, message }: { code: string; message: string },
): ResourceResult {
  return { _id, outcome: 'failed', error: { code, message } };
}
