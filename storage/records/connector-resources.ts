import type { ResourceOutcome } from '../../domain/connectors.js';
import type { Validators } from './connectors.js';

export interface ConnectorResourceRecord extends Validators {
  /** Connector and hash of the key. */
  _id: string;
  org: string;
  connector: string;
  /** Address of a page, id of a feed's entry, key of an object. */
  key: string;
  /** Links from the start to here. */
  depth: number;
  /** The last sync that has met it. */
  sync: number;
  /** To be fetched in that sync. */
  due: boolean;
  outcome: ResourceOutcome | null;
  /** What the listing says about its version; taken over as `etag` once that is fetched. */
  listed_etag?: string | undefined;
  /** SHA-256 of its content, hex. */
  hash: string | null;
  /** The id of its item; null as long as there is none. */
  item_id: string | null;
  /** Where a page leads to on its site. */
  links?: string[] | undefined;
  error?: { code: string; message: string; at: Date } | undefined;
}
