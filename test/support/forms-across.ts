import { readFileSync } from 'node:fs';
import { OF_ANY_ORG } from '../../storage/queries.js';
import type { FilterForm } from './recorded-filters.js';

interface Across {
  reason: string;
  /** By collection: the fields of each filter. */
  filters: Record<string, string[][]>;
}

/** A query by id alone, with its mark. */
const BY_ID_ALONE = ['_id', OF_ANY_ORG.comment];

/** Adds the form of the update that moves the check of the records that a scan has found. */
const scanned = (fields: string[]): string[][] => [fields, ['_id', ...fields]];

/**
 * All filters of the API and the workers that do not name one organisation, and why. A filter that is not in this list fails
 * the tests. `shard-keys.ts` states which collections have no shard key. Commands of operators, such as backups and the change
 * of the sealing key, read whole collections and are not watched.
 */
export const ACROSS: readonly Across[] = [
  {
    reason: 'The reconciler scans the unfinished work of all organisations.',
    filters: {
      items: [...scanned(['check_at', 'indexing_status']), ...scanned(['check_at', 'rows_due'])],
      removed_items: [['check_at', 'removal']],
      deliveries: scanned(['check_at']),
      delivery_replays: scanned(['check_at', 'status']),
      authentications: scanned(['check_at', 'status']),
      ai_jobs: scanned(['check_at', 'status']),
      crew_executions: scanned(['check_at', 'status']),
      databases: scanned(['check_at', 'status', 'updated_at']),
      connectors: scanned(['check_at', 'pending', 'updated_at']),
    },
  },
  {
    reason: 'The sender serves all receivers: it reads and claims the deliveries that are due together.',
    filters: {
      deliveries: [
        // Its receivers, and the deliveries of one.
        ['next_attempt_at', 'receiver'],
        // A claim.
        ['_id', 'next_attempt_at'],
        ['$or', '_id', 'next_attempt_at'],
        ['_id', 'next_attempt_at', 'updated_at'],
        ['_id', 'claim'],
        // The latest claims, when another process has taken over some.
        BY_ID_ALONE,
      ],
    },
  },
  {
    reason: 'Metrics count the unfinished work of all organisations.',
    filters: {
      items: [['indexing_status'], ['rows_due']],
      deliveries: [['next_attempt_at', 'receiver', 'status']],
      ai_jobs: [['status']],
      crew_executions: [['status']],
      authentications: [['status']],
    },
  },
  {
    reason: 'Rebuilds and the compaction of search indexes cover the databases of all organisations.',
    filters: {
      databases: [
        [],
        ['status'],
        ['index.analysis', 'status'],
        ['next_index.rebuild'],
        ['retired_indexes.retired_at'],
        BY_ID_ALONE,
      ],
    },
  },
  {
    reason: 'Housekeeping removes expired uploads, and files that no request has kept.',
    filters: { uploads: [['expires_at']], unclaimed_files: [['created_at'], BY_ID_ALONE] },
  },
];

/** @returns the recorded forms that are not in the list. @param file of `record-product-filters.ts` */
export function unlistedForms(file: string): FilterForm[] {
  const listed = new Set(
    ACROSS.flatMap(({ filters }) =>
      Object.entries(filters).flatMap(([collection, forms]) => forms.map((fields) => keyOf({ collection, fields }))),
    ),
  );
  const recorded = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean));
  return [...recorded].map((line) => JSON.parse(line) as FilterForm).filter((form) => !listed.has(keyOf(form)));
}

function keyOf({ collection, fields }: Pick<FilterForm, 'collection' | 'fields'>): string {
  return `${collection}: ${[...fields].sort().join()}`;
}
