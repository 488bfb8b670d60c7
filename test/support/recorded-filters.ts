import type { CommandStartedEvent, Document, MongoClient } from 'mongodb';
import { OF_ANY_ORG } from '../../storage/queries.js';
import { SHARD_KEYS } from './shard-keys.js';

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
 * Whether a filter names the value that decides the shard: the organisation, or the database that belongs to one.
 */
export function namesShard({ collection, filter }: RecordedFilter): boolean {
  const { key } = SHARD_KEYS[collection] ?? { key: null };
  if (key === null) return true;
  return conditionsOn(filter, key).some((condition) => {
    if (condition === null) return false;
    const operators =
      typeof condition === 'object' ? Object.keys(condition).filter((name) => name.startsWith('$')) : [];
    if (operators.length === 0 || typeof condition.$eq === 'string' || condition.$eq?._bsontype === 'ObjectId')
      return true;
    const values: unknown[] = condition.$in ?? [];
    if (key === 'org') return false;
    return values.length > 0 && values.every((value) => typeof value === 'string');
  });
}

function conditionsOn(filter: Document, field: string): Document[] {
  const inside = Array.isArray(filter.$and) ? filter.$and.flatMap((part: Document) => conditionsOn(part, field)) : [];
  return filter[field] === undefined ? inside : [filter[field], ...inside];
}

/** What a transaction must not do: it would span shards. Such a form is in no list. */
export const SPANS = {
  otherKey: '(in a transaction, and not on the shard of the organisation)',
  organisations: '(in a transaction of several organisations)',
} as const;

/**
 * Follows the organisations of what each transaction reads and writes.
 * @param report receives what would span shards
 * @returns a listener of `commandStarted`
 */
export function watchTransactions(report: (form: FilterForm) => void): (event: CommandStartedEvent) => void {
  const running = new Map<string, Set<string>>();
  return (event) => {
    const { commandName, command } = event;
    if (command.autocommit !== false || commandName === 'getMore') return;
    const id = `${command.lsid.id.toString('hex')}/${command.txnNumber}`;
    if (commandName === 'commitTransaction' || commandName === 'abortTransaction') {
      running.delete(id);
      return;
    }
    const collection = String(command[commandName]);
    const { key, organisation } = SHARD_KEYS[collection] ?? { key: null, organisation: false };
    if (key === null || !organisation) {
      report({ collection, command: commandName, fields: [SPANS.otherKey] });
      return;
    }
    const orgs = running.get(id) ?? new Set();
    running.set(id, orgs);
    const documents: Document[] =
      commandName === 'insert' ? command.documents : filtersOf(event).map(({ filter }) => filter);
    for (const condition of documents.flatMap((document) => conditionsOn(document, key))) orgs.add(String(condition));
    if (orgs.size > 1) report({ collection, command: commandName, fields: [SPANS.organisations] });
  };
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
