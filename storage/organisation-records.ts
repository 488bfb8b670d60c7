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

/** One of many updates. */
export interface RecordUpdate<Entry> {
  filter: OwnFilter<Entry>;
  update: UpdateFilter<Entry>;
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
  constructor(
    private readonly records: Collection<Entry>,
    private readonly org: string,
  ) {}

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

  /** @throws Error for another organisation's record */
  async insertOne(record: Entry, options?: InsertOneOptions): Promise<void> {
    if (record.org !== this.org) throw new Error(`The record ${record._id} belongs to another organisation.`);
    await this.records.insertOne(record as OptionalUnlessRequiredId<Entry>, options);
  }

  updateOne(
    filter: OwnFilter<Entry>,
    update: UpdateFilter<Entry> | Document[],
    options?: UpdateOptions,
  ): Promise<UpdateResult> {
    return this.records.updateOne(this.own(filter), update, options);
  }

  updateMany(
    filter: OwnFilter<Entry>,
    update: UpdateFilter<Entry> | Document[],
    options?: UpdateOptions,
  ): Promise<UpdateResult> {
    return this.records.updateMany(this.own(filter), update, options);
  }

  findOneAndUpdate(
    filter: OwnFilter<Entry>,
    update: UpdateFilter<Entry> | Document[],
    options: FindOneAndUpdateOptions = {},
  ): Promise<WithId<Entry> | null> {
    return this.records.findOneAndUpdate(this.own(filter), update, { ...options, includeResultMetadata: false });
  }

  /** Sends many updates, each of one record. */
  async updateEach(updates: readonly RecordUpdate<Entry>[], options?: BulkWriteOptions): Promise<void> {
    const writes = updates.map(({ filter, ...update }) => ({ updateOne: { filter: this.own(filter), ...update } }));
    await this.records.bulkWrite(writes as Parameters<Collection<Entry>['bulkWrite']>[0], options);
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
