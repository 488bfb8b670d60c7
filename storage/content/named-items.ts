import type { ClientSession, Document } from 'mongodb';
import type { OwnedDatabase } from '../../domain/content/databases.js';
import { ServiceError } from '../../domain/errors.js';
import type { OrganisationRecords, OwnFilter } from '../organisation-records.js';
import type { ItemRecord } from './items.js';

/** The collection that is meant when an id exists in several collections and the client names none. */
const DEFAULT_COLLECTION = 'default';
/** Collections that an error names. */
const NAMED = 20;

/** Ids of items as a client names them. */
export interface NamedItems {
  ids: readonly string[];
  /** Without it, an id that exists in one collection is meant, of several the one in `default`. */
  collection?: string | undefined;
}

/**
 * Finds items by the client's ids, which are unique within their collection.
 * @param options a projection must include the id
 * @returns at most one item per id
 * @throws ServiceError INVALID_PARAMETERS when no collection is given and an id exists in several, but not in `default`
 */
export async function findNamed(
  items: OrganisationRecords<ItemRecord>,
  { _id: database_id, org }: OwnedDatabase,
  { ids, collection }: NamedItems,
  options: { projection?: Document; session?: ClientSession | undefined } = {},
): Promise<ItemRecord[]> {
  const find = (filter: OwnFilter<ItemRecord>) => items.forOrg(org).find({ database_id, ...filter }, options);
  const found = await find({ id: { $in: [...ids] }, collection: collection ?? DEFAULT_COLLECTION }).toArray();
  if (collection !== undefined) return found;
  const known = new Set(found.map(({ id }) => id));
  const others = [...new Set(ids)].filter((id) => !known.has(id));
  if (others.length === 0) return found;
  // One more than the ids: then at least one id is among them twice, however many collections have it.
  const elsewhere = await find({ id: { $in: others } })
    .limit(others.length + 1)
    .toArray();
  for (const item of elsewhere) {
    if (known.has(item.id)) throw ambiguous(item.id, await collectionsWith(item.id));
    known.add(item.id);
  }
  return [...found, ...elsewhere];

  async function collectionsWith(id: string): Promise<string[]> {
    const having = find({ id }).project<{ collection: string }>({ collection: 1 });
    return (await having.limit(NAMED + 1).toArray()).map((item) => item.collection).sort();
  }
}

function ambiguous(id: string, collections: readonly string[]): ServiceError {
  const names = collections
    .slice(0, NAMED)
    .map((name) => `"${name}"`)
    .join(', ');
  const others = collections.length > NAMED ? ' and others' : '';
  return new ServiceError(
    'INVALID_PARAMETERS',
    `collection: is required, because the id "${id}" exists in the collections ${names}${others}`,
  );
}
