import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { SourceError } from '../../domain/connectors/connectors.js';
import { ExtractionError, type FileKind, ITEM_ERRORS } from '../../domain/extraction.js';
import type { FileStore } from '../../domain/file-store.js';
import { newFileId } from '../../domain/ids.js';
import type { FetchResult, Source } from '../../providers/connectors/index.js';
import type { ConnectorRecord } from '../../storage/connectors/connectors.js';
import {
  type ConnectorResourceRecord,
  type ConnectorResources,
  itemIdOf,
  type ResourceResult,
} from '../../storage/connectors/resources.js';
import { type ItemRecord, type Items, queuedItem } from '../../storage/content/items.js';
import type { Scratch } from '../../storage/scratch.js';
import { hashOf, headOf } from '../local-file.js';

export interface ResourceFetcherDependencies {
  resources: ConnectorResources;
  items: Items;
  files: FileStore;
  scratch: Scratch;
  detectKind(
    head: Buffer,
    options: { filename?: string; openStream?: () => Readable },
  ): Promise<{ kind: FileKind; mime_type: string }>;
}

/** A resource that was due, with what it was found to be, and its content where that is new. */
export interface FetchedResource {
  resource: ConnectorResourceRecord;
  result: ResourceResult;
  content?: Pick<ItemRecord, 'title' | 'source' | 'additional_metadata'> & { file_id: string };
}

/** From a resource to an item as an ingest writes it. A resource that fails keeps the item it has. */
export function createResourceFetcher({ items, files, scratch, detectKind }: ResourceFetcherDependencies) {
  return {
    /** Looks at each resource, some side by side; what fails is a result like any other. */
    async fetch(
      connector: ConnectorRecord,
      source: Source,
      due: readonly ConnectorResourceRecord[],
      batch: string,
      signal: AbortSignal,
    ): Promise<FetchedResource[]> {
      const taken: FetchedResource[] = [];
      const waiting = [...due.entries()];
      const one = async (folder: string) => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const [n, resource] = next;
          const path = join(folder, String(n));
          taken.push(await take(connector, source, resource, { path, batch }, signal));
          await rm(path, { force: true });
        }
      };
      return scratch.use(async (folder) => {
        try {
          await Promise.all(Array.from({ length: source.concurrency }, () => one(folder)));
          return taken;
        } catch (error) {
          waiting.length = 0;
          throw error;
        }
      });
    },

    /** The items to queue; one that is there is replaced. */
    async asItems(
      { org, database_id, database, collection }: ConnectorRecord,
      taken: readonly FetchedResource[],
      batch: string,
    ): Promise<{ records: ItemRecord[]; replacedFiles: string[] }> {
      const wanted = taken.flatMap(({ result, content }) => (content ? [{ id: result.item_id!, content }] : []));
      const ids = wanted.map(({ id }) => id);
      const existing = new Map((await items.findExisting(database_id, ids)).map((item) => [item.id, item]));
      const now = new Date();
      const place = { org, database_id, database, collection, batch };
      const records = wanted.map(({ id, content: { file_id: _, ...content } }) =>
        queuedItem({ ...place, id, type: 'knowledge', metadata: {}, ...content }, existing.get(id), now),
      );
      return { records, replacedFiles: [...existing.values()].flatMap(({ source }) => source.file_id ?? []) };
    },

    /** The items are queued: their files are theirs, those of the versions before are not needed. */
    async settle(batch: string, taken: readonly FetchedResource[], replacedFiles: readonly string[]): Promise<void> {
      if (taken.some(({ content }) => content)) await files.claim(batch);
      for (const file of replacedFiles) await files.remove(file);
    },

    /** Nothing was queued. */
    async discard(taken: readonly FetchedResource[]): Promise<void> {
      for (const { content } of taken) if (content) await files.remove(content.file_id);
    },
  };

  async function take(
    connector: ConnectorRecord,
    source: Source,
    resource: ConnectorResourceRecord,
    { path, batch }: { path: string; batch: string },
    signal: AbortSignal,
  ): Promise<FetchedResource> {
    const { _id, key, item_id } = resource;
    try {
      // Only a version that was taken in may be asked not to come again.
      const known = resource.hash === null ? {} : { etag: resource.etag, last_modified: resource.last_modified };
      const fetched = await source.fetch({ key, ...known }, path, signal);
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
      const hash = await hashOf(path);
      if (hash === resource.hash) return { resource, result: unchanged(resource, version) };
      return await accept(connector, resource, { fetched, version: { ...version, hash }, path, batch });
    } catch (error) {
      if (signal.aborted || !(error instanceof SourceError)) throw error;
      return { resource, result: failed(resource, error) };
    }
  }

  async function accept(
    connector: ConnectorRecord,
    resource: ConnectorResourceRecord,
    {
      fetched,
      version,
      path,
      batch,
    }: { fetched: FetchResult & { state: 'content' }; version: Partial<ResourceResult>; path: string; batch: string },
  ): Promise<FetchedResource> {
    const { _id, key, item_id } = resource;
    const { filename, title, url } = fetched;
    const detected = await detectKind(await headOf(path), { filename, openStream: () => createReadStream(path) }).catch(
      (error: unknown) => {
        if (error instanceof ExtractionError) return error;
        throw error;
      },
    );
    // This version is not asked for again; the item of the version before stays.
    if (detected instanceof ExtractionError) return { resource, result: { ...failed(resource, detected), ...version } };
    const file_id = newFileId();
    await pipeline(createReadStream(path), (pieces) => files.write(file_id, { org: connector.org, batch }, pieces));
    const { size } = await stat(path);
    const { kind: file_kind, mime_type } = detected;
    return {
      resource,
      result: {
        _id,
        ...version,
        outcome: item_id === null ? 'new' : 'changed',
        item_id: itemIdOf(connector._id, key),
      },
      content: {
        file_id,
        title: title?.slice(0, 500) ?? null,
        source: { kind: 'file', file_id, filename, file_kind, mime_type, size },
        additional_metadata: { source: url, connector_id: connector._id, ...(key === url ? {} : { resource: key }) },
      },
    };
  }
}

/** What was refused for what it is stays refused as long as it is the same. */
function unchanged(resource: ConnectorResourceRecord, version: Partial<ResourceResult>): ResourceResult {
  const refused = resource.error !== undefined && resource.error.code in ITEM_ERRORS;
  return { _id: resource._id, ...version, outcome: refused ? 'failed' : 'unchanged', keepError: refused };
}

function failed(
  { _id }: ConnectorResourceRecord,
  { code, message }: { code: string; message: string },
): ResourceResult {
  return { _id, outcome: 'failed', error: { code, message } };
}
