import { createRequire } from 'node:module';
import { Command, InvalidArgumentError } from 'commander';
import { KEY_KINDS, type KeyKind } from '../domain/api-keys.js';
import { TASK_QUEUES } from '../domain/workflow-contract.js';
import { runProcess } from '../runtime/process.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const program = new Command('postback')
  .description('Work that finishes later, announced by a signed HTTP callback.')
  .version(version)
  .showHelpAfterError();

program
  .command('start')
  .description('run everything on this machine: Temporal, MongoDB, API and workers')
  .action(async () => (await import('./start.js')).start());

program
  .command('api')
  .description('run the HTTP API')
  .action(async () => {
    await import('../api/main.js');
  });

program
  .command('worker')
  .description('run the workers of some or all task queues')
  .option('--queues <names>', `comma-separated: ${TASK_QUEUES.join(', ')} (default: all)`)
  .action(async ({ queues }) => {
    if (queues !== undefined) process.env.POSTBACK_QUEUES = queues;
    await import('../worker/main.js');
  });

program
  .command('demo')
  .description('show the whole path in this terminal: files in, webhooks out, one question')
  .action(async () => (await import('./demo.js')).demo());

program
  .command('bench')
  .description('measure; see bench/README.md')
  .argument('[name]', 'throughput (default), deliveries, receivers, jobs, footprint, latency, crashes or retrieval')
  .argument('[folder]', 'for retrieval: a folder with documents.jsonl and queries.jsonl')
  .action(async (name, folder) => (await import('../bench/main.js')).bench(name ?? 'throughput', folder));

const keys = program.command('keys').description('API keys');
keys
  .command('create')
  .description('make a key; it is shown once')
  .requiredOption('--org <name>', 'the organisation it belongs to')
  .option('--kind <kind>', KEY_KINDS.join(', '), asKind, 'api')
  .option('--label <text>', 'for people', '')
  .option('--expires <date>', 'ISO 8601', asFutureDate)
  .action(async (options) => (await import('./keys.js')).createKey(options));
keys
  .command('list')
  .option('--org <name>')
  .action(async ({ org }) => (await import('./keys.js')).listKeys(org));
keys
  .command('revoke')
  .argument('<id>')
  .action(async (id) => (await import('./keys.js')).revokeKey(id));

const signingKeys = program.command('signing-key').description('the key that signs callbacks of AI jobs');
signingKeys
  .command('show')
  .description('print the public keys that receivers may need, the current one first')
  .action(async () => (await import('./signing-key.js')).showSigningKeys());
signingKeys
  .command('rotate')
  .description('sign new jobs with a new key; jobs under way keep theirs')
  .action(async () => (await import('./signing-key.js')).rotateSigningKey());

program
  .command('index')
  .description('the search index')
  .command('rebuild')
  .description('write the search index again from MongoDB')
  .option('--database <tenant>', 'only this database, by its internal id')
  .action(async ({ database }) => (await import('./rebuild-index.js')).rebuildIndex(database));

program
  .command('model')
  .description('the embedding model')
  .command('fetch')
  .description('fetch and check the embedding model')
  .option('--to <folder>', 'copy it there')
  .action(async ({ to }) => (await import('./model.js')).fetchModel(to));

function asKind(value: string): KeyKind {
  if ((KEY_KINDS as readonly string[]).includes(value)) return value as KeyKind;
  throw new InvalidArgumentError(`one of ${KEY_KINDS.join(', ')}`);
}

function asFutureDate(value: string): Date {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('a date such as 2030-01-31');
  if (date <= new Date()) throw new InvalidArgumentError('a date in the future, such as 2030-01-31');
  return date;
}

await runProcess(() => program.parseAsync());
