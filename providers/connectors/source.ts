/** What a connector reads from: one implementation a kind. Listings are cheap and tell what may have changed. */
export interface ListedResource {
  /** Names the resource within its source, and stays the same. */
  key: string;
  /** What the listing says about its version: when it is that of the last sync, the resource is not fetched. */
  etag?: string;
}

export interface ListingPage {
  resources: ListedResource[];
  /** Where the listing goes on; null at its end. */
  next: string | null;
  /** Everything known stands as it was; `resources` is empty then. */
  unchanged?: boolean;
  /** To be shown at the next listing. */
  validators?: Validators;
}

export interface Validators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}

export interface WantedResource extends Validators {
  key: string;
}

export type Fetched =
  | { state: 'unchanged' }
  | { state: 'gone' }
  | ({
      state: 'content';
      filename: string;
      title?: string;
      /** What names it to a person: an address. */
      url: string;
      /** Links to its own site, without fragments. */
      links?: string[];
    } & Validators);

export interface Source {
  /** @param cursor null at the beginning. @throws SourceError when it cannot be had or understood */
  list(cursor: string | null, validators: Validators, signal: AbortSignal): Promise<ListingPage>;
  /** Writes the content to a local file. @throws SourceError */
  fetch(wanted: WantedResource, path: string, signal: AbortSignal): Promise<Fetched>;
  /** Resources fetched side by side. */
  concurrency: number;
}
