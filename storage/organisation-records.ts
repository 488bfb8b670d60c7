import type {
  AggregateOptions,
  AggregationCursor,
  BulkWriteOptions,
  Collection,
  CountDocumentsOptions,
  DeleteOptions,
  DeleteResult,
  Document,
  Filter,
  FindCursor,
  FindOneAndUpdateOptions,
  FindOptions,
  InsertOneOptions,
  OptionalUnlessRequiredId,
  UpdateFilter,
  UpdateOptions,
  UpdateResult,
  WithId,
} from 'mongodb';
import { type StaleOptions, type StaleRecords, staleRecords } from './queries.js';

/** A record that belongs to an organisation. */
interface Owned {
  _id: string;
  org: string;
}

/** A change of records: operators, or a pipeline. */
type Change<Entry> = UpdateFilter<Entry> | Document[];

/** One of many updates. */
export interface RecordUpdate<Entry> {
  filter: OwnFilter<Entry>;
  update: Change<Entry>;
  /** Updates all records that match. Otherwise at most one. */
  multi?: boolean;
  upsert?: boolean;
  hint?: Document;
}

/** A filter of one organisation's records, which `forOrg` completes. */
export type OwnFilter<Entry> = Filter<Entry> & { org?: never };

/**
 * The records of one organisation: the rest of the collection can neither be read nor changed. The methods are those of
 * MongoDB's `Collection`.
 */
export class OwnRecords<Entry extends Owned> {
  private readonly records: Collection<Entry>;
  private readonly org: string;

  constructor(records: Collection<Entry>, org: string) {
    this.records = records;
    this.org = org;
  }

  find(filter: OwnFilter<Entry>, options?: FindOptions): FindCursor<WithId<Entry>> {
    return this.records.find(this.own(filter), options);
  }

  findOne(filter: OwnFilter<Entry>, options?: FindOptions): Promise<WithId<Entry> | null> {
    return this.records.findOne(this.own(filter), options);
  }

  countDocuments(filter: OwnFilter<Entry>, options?: CountDocumentsOptions): Promise<number> {
    return this.records.countDocuments(this.own(filter), options);
  }

  aggregate<Result extends Document>(stages: Document[], options?: AggregateOptions): AggregationCursor<Result> {
    return this.records.aggregate<Result>([{ $match: { org: this.org } }, ...stages], options);
  }

  insertOne(record: Entry, options?: InsertOneOptions): Promise<void> {
    return this.insertMany([record], options);
  }

  /** @throws Error for another organisation's record */
  async insertMany(records: readonly Entry[], options?: InsertOneOptions): Promise<void> {
    const other = records.find(({ org }) => org !== this.org);
    if (other) throw new Error(`The record ${other._id} belongs to another organisation.`);
    const inserted = records as readonly OptionalUnlessRequiredId<Entry>[];
    // The driver does more than twice the work for a list.
    if (inserted.length === 1) await this.records.insertOne(inserted[0]!, options);
    else if (inserted.length > 1) await this.records.insertMany(inserted, options);
  }

  updateOne(filter: OwnFilter<Entry>, update: Change<Entry>, options?: UpdateOptions): Promise<UpdateResult> {
    return this.records.updateOne(this.own(filter), update, options);
  }

  updateMany(filter: OwnFilter<Entry>, update: Change<Entry>, options?: UpdateOptions): Promise<UpdateResult> {
    return this.records.updateMany(this.own(filter), update, options);
  }

  /** @returns the record after the update, unlike MongoDB's method; null when none matches */
  findOneAndUpdate(
    filter: OwnFilter<Entry>,
    update: Change<Entry>,
    options?: Omit<FindOneAndUpdateOptions, 'returnDocument' | 'includeResultMetadata'>,
  ): Promise<WithId<Entry> | null> {
    return this.records.findOneAndUpdate(this.own(filter), update, { ...options, returnDocument: 'after' });
  }

  /** Sends many updates together. @returns the number of records that matched */
  async updateEach(updates: readonly RecordUpdate<Entry>[], options?: BulkWriteOptions): Promise<number> {
    const writes = updates.map(({ filter, multi, ...update }) => ({
      [multi ? 'updateMany' : 'updateOne']: { filter: this.own(filter), ...update },
    }));
    type Writes = Parameters<Collection<Entry>['bulkWrite']>[0];
    return (await this.records.bulkWrite(writes as unknown as Writes, options)).matchedCount;
  }

  deleteOne(filter: OwnFilter<Entry>, options?: DeleteOptions): Promise<DeleteResult> {
    return this.records.deleteOne(this.own(filter), options);
  }

  deleteMany(filter: OwnFilter<Entry>, options?: DeleteOptions): Promise<DeleteResult> {
    return this.records.deleteMany(this.own(filter), options);
  }

  private own(filter: OwnFilter<Entry>): Filter<Entry> {
    return { ...filter, org: this.org } as Filter<Entry>;
  }
}

/** A collection as stores see it: nothing in it is reached without an organisation, except by the reconciler. */
export interface OrganisationRecords<Entry extends Owned> {
  forOrg(org: string): OwnRecords<Entry>;
  /** Unfinished records of all organisations, for the reconciler. */
  stale(filter: (before: Date) => Filter<Entry>, options?: StaleOptions): StaleRecords<Entry>;
}

/** The whole collection, of which stores see only the records of an organisation. */
export type OwnedCollection<Entry extends Owned> = Collection<Entry> & OrganisationRecords<Entry>;

export function byOrganisation<Entry extends Owned>(collection: Collection<Entry>): OwnedCollection<Entry> {
  return Object.assign(collection, {
    forOrg: (org: string) => new OwnRecords(collection, org),
    stale: (filter: (before: Date) => Filter<Entry>, options?: StaleOptions) =>
      staleRecords(collection, filter, options),
  });
}
