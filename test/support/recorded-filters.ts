import type { CommandStartedEvent, Document, MongoClient } from 'mongodb';

/** A filter that was sent to MongoDB. */
export interface RecordedFilter {
  command: string;
  collection: string;
  filter: Document;
}

/**
 * Collects the filters of all commands that a client sends. Its URI must have `monitorCommands=true`.
 * @returns the filters, which grow
 */
export function recordFilters(client: MongoClient): RecordedFilter[] {
  const recorded: RecordedFilter[] = [];
  client.on('commandStarted', ({ commandName, command }: CommandStartedEvent) => {
    for (const filter of filtersOf(commandName, command)) {
      recorded.push({ command: commandName, collection: String(command[commandName]), filter });
    }
  });
  return recorded;
}

function filtersOf(name: string, command: Document): Document[] {
  switch (name) {
    case 'find':
      return [command.filter ?? {}];
    case 'count':
    case 'distinct':
    case 'findAndModify':
      return [command.query ?? {}];
    case 'aggregate':
      return [command.pipeline[0]?.$match ?? {}];
    case 'update':
      return command.updates.map(({ q }: { q: Document }) => q);
    case 'delete':
      return command.deletes.map(({ q }: { q: Document }) => q);
    default:
      return [];
  }
}
