import type { Validators } from '../../domain/connectors/connectors.js';
import type { ForeignParser } from './parsing/index.js';
import type { Requests } from './requests.js';

/** What a source works with. */
export interface SourceTools {
  requests: Requests;
  parser: ForeignParser;
  /** A temporary folder that lasts as long as the source. */
  folder: string;
}

/** What a connector reads from. There is one implementation per kind of connector. */
export interface Source {
  /** Number of resources that may be fetched at the same time. */
  concurrency: number;
  /**
   * Reads one page of the listing, which is cheap and shows what may have changed.
   * @param cursor null for the first page
   * @throws SourceError
   */
  list(cursor: string | null, validators: Validators, signal: AbortSignal): Promise<ListingPage>;
  /** Writes the content of a resource to a local file. @throws SourceError */
  fetch(resource: RequestedResource, path: string, signal: AbortSignal): Promise<FetchResult>;
}

export interface ListingPage {
  resources: ListedResource[];
  /** Cursor of the next page; null on the last page. */
  next: string | null;
  /** True when nothing has changed since the last listing; `resources` is then empty. */
  unchanged?: boolean;
  /** To be passed to the next listing. */
  validators?: Validators;
}

export interface ListedResource {
  /** Identifies the resource within its source; stable. */
  key: string;
  /** The version by the listing. A resource with the version of the last sync is not fetched. */
  etag?: string;
}

export interface RequestedResource extends Validators {
  key: string;
}

export type FetchResult =
  | { state: 'unchanged' }
  | { state: 'gone' }
  | ({
      state: 'content';
      filename: string;
      title?: string;
      /** Address of the resource, for people. */
      url: string;
      /** Links to the same site, without fragments. */
      links?: string[];
    } & Validators);
