/**
 * What is left of a deleted item: its version counter, since a workflow's id is never used twice, and until it has been
 * cleared away what the item has left behind.
 */
export interface RemovedItemRecord {
  /** The item's key; an item that is added again under its id gets it back. */
  _id: string;
  org: string;
  tenant: string;
  /** The client's id. */
  id: string;
  /** The last one used. */
  version: number;
  /** The removal that has to clear away chunks, index rows, graph and files; null once that is done. */
  removal: string | null;
  /** File ids. */
  files: string[];
  /** From when on the sweep may wonder whether the removal's workflow exists. */
  check_at: Date;
}
