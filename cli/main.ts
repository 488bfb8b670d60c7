import { createRequire } from 'node:module';
import { Command, InvalidArgumentError } from 'commander';
import { KEY_KINDS, type KeyKind } from '../domain/api-keys.js';
import { TASK_QUEUES } from '../domain/workflow-contract.js';
import { runProcess } from '../runtime/process.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

const program = new Command('postback')
  .description('Self-hosted backend for long-running work that ends with a signed HTTP callback.')
  .version(version)
  .showHelpAfterError();

program
  .command('start')
  .description('run Temporal, MongoDB, the API and the workers on this machine')
  .action(async () => (await import('./start.js')).start());

program
  .command('api')
  .description('run the HTTP API')
  .action(async () => {
    await import('../api/main.js');
  });

const worker = program
  .command('worker')
  .description('run the workers')
  .option('--queues <names>', `task queues, comma-separated: ${TASK_QUEUES.join(', ')} (default: all)`)
  .action(async ({ queues }) => {
    if (queues !== undefined) process.env.POSTBACK_QUEUES = queues;
    await import('../worker/main.js');
  });
worker
  .command('promote')
  .description('make the version of this release the current version of the workers (POSTBACK_WORKER_VERSIONING)')
  .action(async () => {
    await (await import('./rollout.js')).promoteWorkers();
    console.log('The version of this release is the current version of the workers.');
  });

program
  .command('replay-open')
  .description('before a rollout: replay all open executions on the code of this release')
  .action(async () => (await import('./rollout.js')).replayOpenExecutions());

program
  .command('demo')
  .description('ingest example files, receive their webhooks and ask a question')
  .action(async () => (await import('./demo/index.js')).demo());

program
  .command('bench')
  .description('run a benchmark; see bench/README.md')
  .argument('[name]', 'throughput (default), deliveries, receivers, jobs, footprint, latency, crashes or retrieval')
  .argument('[folder]', 'for retrieval: folder with documents.jsonl and queries.jsonl')
  .action(async (name, folder) => (await import('../bench/main.js')).bench(name ?? 'throughput', folder));

const keys = program.command('keys').description('manage API keys');
keys
  .command('create')
  .description('create a key and print it once')
  .requiredOption('--org <name>', 'organisation that the key belongs to')
  .option('--kind <kind>', KEY_KINDS.join(', '), asKind, 'api')
  .option('--label <text>', 'note shown by `keys list`', '')
  .option('--expires <date>', 'expiry date (ISO 8601), such as 2030-01-31', asFutureDate)
  .action(async (options) => (await import('./keys.js')).createKey(options));
keys
  .command('list')
  .description('list keys, without the keys themselves')
  .option('--org <name>', 'only the keys of this organisation')
  .action(async ({ org }) => (await import('./keys.js')).listKeys(org));
keys
  .command('revoke')
  .description('revoke a key')
  .argument('<id>', 'id of the key, as `keys list` shows it')
  .action(async (id) => (await import('./keys.js')).revokeKey(id));

const signingKeys = program
  .command('signing-key')
  .description("manage the keys that sign the organisations' callbacks of AI jobs");
signingKeys
  .command('show')
  .description('print the public keys that receivers of an organisation may need, the current key first')
  .requiredOption('--org <name>', 'organisation')
  .action(async ({ org }) => (await import('./signing-key.js')).showSigningKeys(org));
signingKeys
  .command('rotate')
  .description('sign new jobs of an organisation with a new key; running jobs use the old key')
  .requiredOption('--org <name>', 'organisation')
  .action(async ({ org }) => (await import('./signing-key.js')).rotateSigningKey(org));

program
  .command('index')
  .description('manage the search index')
  .command('rebuild')
  .description('write the search index again from MongoDB')
  .option('--database <id>', 'only the database with this internal id')
  .action(async ({ database }) => (await import('./rebuild-index.js')).rebuildIndex(database));

program
  .command('model')
  .description('manage the embedding model')
  .command('fetch')
  .description('download and check the embedding model')
  .option('--to <folder>', 'copy its files to this folder')
  .action(async ({ to }) => (await import('./fetch-model.js')).fetchModel(to));

function asKind(value: string): KeyKind {
  if ((KEY_KINDS as readonly string[]).includes(value)) return value as KeyKind;
  throw new InvalidArgumentError(`Use one of ${KEY_KINDS.join(', ')}.`);
}

function asFutureDate(value: string): Date {
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) throw new InvalidArgumentError('Use a date such as 2030-01-31.');
  if (date <= new Date()) throw new InvalidArgumentError('Use a date in the future, such as 2030-01-31.');
  return date;
}

await runProcess(() => program.parseAsync());
