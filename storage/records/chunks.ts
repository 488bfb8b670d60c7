import type { Binary } from 'mongodb';
import type { ItemType } from '../../domain/search.js';

export interface ChunkRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  collection: string;
  type: ItemType;
  title: string | null;
  ordinal: number;
  text: string;
  headings: string[];
  page: number | null;
  page_label?: string;
  slide?: number;
  slide_title?: string;
  sheet: string | null;
  /** First and last row of a table, from 1. */
  rows?: [number, number];
  /** 32-bit floats, little endian; null until embedded, or for good where no model is at hand. */
  vector: Binary | null;
}
