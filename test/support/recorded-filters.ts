import type { CommandStartedEvent, Document, MongoClient } from 'mongodb';
import { OF_ANY_ORG } from '../../storage/queries.js';
import { SHARDING } from '../../storage/sharding.js';

/** A filter that was sent to MongoDB. */
export interface RecordedFilter {
  command: string;
  collection: string;
  filter: Document;
  /** Whether the query has the mark of those by id alone. */
  ofAnyOrg: boolean;
}

/** The form of a filter: what it compares, without the values. */
export interface FilterForm {
  collection: string;
  command: string;
  /** Sorted; those of `$and` are among them, and `of any organisation` in a query with this mark. */
  fields: string[];
}

/**
 * Collects the filters of all commands that a client sends. Its URI must have `monitorCommands=true`.
 * @returns the filters, which grow
 */
export function recordFilters(client: MongoClient): RecordedFilter[] {
  const recorded: RecordedFilter[] = [];
  client.on('commandStarted', (event) => recorded.push(...filtersOf(event)));
  return recorded;
}

/** @returns the filters of a command */
export function filtersOf({ commandName, command }: CommandStartedEvent): RecordedFilter[] {
  const collection = String(command[commandName]);
  const ofAnyOrg = command.comment === OF_ANY_ORG.comment;
  return conditionsOf(commandName, command).map((filter) => ({ command: commandName, collection, filter, ofAnyOrg }));
}

function conditionsOf(name: string, command: Document): Document[] {
  switch (name) {
    case 'find':
      return [command.filter ?? {}];
    case 'count':
    case 'distinct':
    case 'findAndModify':
      return [command.query ?? {}];
    case 'aggregate':
      // A change stream has no filter; it reads the log.
      return command.pipeline[0]?.$changeStream ? [] : [command.pipeline[0]?.$match ?? {}];
    case 'update':
      return command.updates.map(({ q }: { q: Document }) => q);
    case 'delete':
      return command.deletes.map(({ q }: { q: Document }) => q);
    default:
      return [];
  }
}

/**
 * Whether a filter names the value that decides the shard: the organisation, or the database that belongs to one. Records of
 * earlier releases have no organisation in some collections; a filter that also finds those names it too.
 */
export function namesShard({ collection, filter }: RecordedFilter): boolean {
  const sharding = SHARDING[collection];
  if (!sharding || 'notSharded' in sharding) return true;
  return conditionsOn(filter, sharding.key).some((condition) => {
    if (condition === null) return false;
    const operators =
      typeof condition === 'object' ? Object.keys(condition).filter((name) => name.startsWith('$')) : [];
    if (operators.length === 0 || typeof condition.$eq === 'string' || condition.$eq?._bsontype === 'ObjectId')
      return true;
    const values: unknown[] = condition.$in ?? [];
    if (sharding.key === 'org') return values.length === 2 && typeof values[0] === 'string' && values[1] === null;
    return values.length > 0 && values.every((value) => typeof value === 'string');
  });
}

function conditionsOn(filter: Document, field: string): Document[] {
  const inside = Array.isArray(filter.$and) ? filter.$and.flatMap((part: Document) => conditionsOn(part, field)) : [];
  return filter[field] === undefined ? inside : [filter[field], ...inside];
}

export function formOf({ command, collection, filter, ofAnyOrg }: RecordedFilter): FilterForm {
  const mark = ofAnyOrg ? [OF_ANY_ORG.comment] : [];
  return { collection, command, fields: [...new Set([...fieldsOf(filter), ...mark])].sort() };
}

function fieldsOf(filter: Document): string[] {
  return Object.entries(filter).flatMap(([name, condition]) =>
    name === '$and' ? condition.flatMap(fieldsOf) : [name],
  );
}
