import { createRequire } from 'node:module';
import addCompletion from '@bomb.sh/tab/commander';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { KEY_KINDS, type KeyKind, SCOPES, type Scope } from '../domain/api-keys.js';
import { SEARCH_ENGINES } from '../domain/content/index-generations.js';
import { QUOTAS } from '../domain/quotas.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { TASK_QUEUES } from '../domain/workflow-contract.js';
import { addExamples } from './examples.js';
import { LOGS } from './log-names.js';
import { print } from './remote/output.js';
import { addRemoteCommands, asNumber, remote } from './remote/program.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

/**
 * The `postback` command with its commands and options.
 * @param program Commander's settings in it hold for every command
 */
export function createProgram(program = new Command('postback')): Command {
  program
    .description('Self-hosted backend for long-running work that ends with a signed HTTP callback.')
    .version(version)
    .showHelpAfterError();

  program.commandsGroup('Run:');
  program
    .command('start')
    .description('run Temporal, MongoDB, the API, the embedding process and a worker on this machine')
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
      (await import('./platform.js')).requirePlatform();
      await import('../worker/main.js');
    });
  worker
    .command('promote')
    .description('make the version of this release the current version of the workers (POSTBACK_WORKER_VERSIONING)')
    .option('--json', 'print JSON')
    .action(async ({ json }) => {
      const version = await (await import('./rollout.js')).promoteWorkers();
      print({ json, data: { version } }, () => 'The version of this release is the current version of the workers.');
    });

  program
    .command('embedder')
    .description('run the embedding process, which API and workers share (POSTBACK_EMBEDDER_SOCKET)')
    .action(async () => {
      (await import('./platform.js')).requirePlatform();
      await import('../embedder/main.js');
    });

  program
    .command('replay-open')
    .description('before a rollout: replay all open executions on the code of this release')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./rollout.js')).replayOpenExecutions(options));

  remote(program.command('doctor'))
    .description('check this installation, and say how to fix each problem')
    .action(async (options) => (await import('./doctor.js')).doctor(options));
  const logs = program.command('logs').description('read the logs of the instance in this folder');
  logs
    .command('tail')
    .description('print the last lines, and follow the logs until Ctrl-C')
    .addArgument(new Argument('[names...]', 'which logs (default: all)').choices(LOGS))
    .option('--lines <number>', 'lines of each log before the new ones', asNumber, 10)
    .option('--json', 'print the logs as they are, in JSON')
    .option('--no-follow', 'end after these lines')
    .action(async (names, options) => (await import('./logs.js')).tailLogs(names, options));

  program
    .command('demo')
    .description('show the whole path: files, a query, an AI job, a crew that waits, and their verified callbacks')
    .action(async () => (await import('./demo/index.js')).demo());

  addRemoteCommands(program);

  program.commandsGroup('Administration, with access to MongoDB and Temporal:');

  const keys = program.command('keys').description('manage API keys');
  keys
    .command('create')
    .description('create a key and print it once')
    .requiredOption('--org <name>', 'organisation that the key belongs to')
    .option('--kind <kind>', KEY_KINDS.join(', '), asKind, 'api')
    .option('--crew <names...>', 'of a crew_user key: the crews that it is for', undefined)
    .option('--label <text>', 'note shown by `keys list`', '')
    .addOption(
      new Option('--scopes <list>', `what the key may do, comma-separated: ${SCOPES.join(', ')}`)
        .argParser(asScopes)
        .default([...SCOPES], 'all'),
    )
    .addOption(
      new Option('--expires <when>', 'days such as 90d, a date such as 2030-01-31, or never')
        .argParser(asExpiry)
        .default(asExpiry('365d'), '365d'),
    )
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./keys.js')).createKey(options));
  keys
    .command('list')
    .description('list keys, without the keys themselves')
    .option('--org <name>', 'only the keys of this organisation')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./keys.js')).listKeys(options));
  keys
    .command('revoke')
    .description('revoke a key')
    .argument('<id>', 'id of the key, as `keys list` shows it')
    .option('--json', 'print JSON')
    .action(async (id, options) => (await import('./keys.js')).revokeKey(id, options));

  const signingKeys = program
    .command('signing-key')
    .description("manage the keys that sign the organisations' callbacks of AI jobs");
  signingKeys
    .command('show')
    .description('print the public keys that receivers of an organisation may need, the current key first')
    .requiredOption('--org <name>', 'organisation')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./keys.js')).showSigningKeys(options));
  signingKeys
    .command('rotate')
    .description('sign new jobs of an organisation with a new key; running jobs use the old key')
    .requiredOption('--org <name>', 'organisation')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./keys.js')).rotateSigningKey(options));

  const orgs = program.command('orgs').description('manage organisations');
  const limits = orgs.command('limits').description(`manage what an organisation may use: ${QUOTAS.join(', ')}`);
  limits
    .command('show')
    .description('print what an organisation uses, and its limits')
    .requiredOption('--org <name>', 'the organisation')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./organisations.js')).showLimits(options));
  limits
    .command('set')
    .description('set limits of an organisation, which replace those of the settings POSTBACK_QUOTA_…')
    .argument('<quota=limit...>', 'such as items=1000 or items=unlimited; 0 allows nothing')
    .requiredOption('--org <name>', 'the organisation')
    .option('--json', 'print JSON')
    .action(async (assignments, options) => (await import('./organisations.js')).setLimits(assignments, options));
  limits
    .command('clear')
    .description('remove limits of an organisation: those of the settings apply again')
    .argument('[quotas...]', 'names of quotas (default: all)')
    .requiredOption('--org <name>', 'the organisation')
    .option('--json', 'print JSON')
    .action(async (names, options) => (await import('./organisations.js')).clearLimits(names, options));

  program
    .command('backup')
    .description('write the database, and the files of the bucket, as they are at one time; the service may run')
    .argument('<file>', 'a new file, such as backup.ndjson.gz')
    .option('--json', 'print JSON')
    .action(async (file, options) => (await import('./backup.js')).backUp(file, options));
  program
    .command('restore')
    .description(
      'write a backup into an empty database, an empty bucket and the search index; the service must not run',
    )
    .argument('<file>', 'a file that `postback backup` wrote')
    .option('--json', 'print JSON')
    .action(async (file, options) => (await import('./backup.js')).restoreBackup(file, options));

  program
    .command('sealing-key')
    .description('manage the keys that seal stored secrets')
    .command('rotate')
    .description('seal every stored secret with the first key of POSTBACK_SEALING_KEY, while the service runs')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./keys.js')).rotateSealingKey(options));

  program
    .command('operators')
    .description("prepare Temporal's UI for the people who run Postback")
    .command('setup')
    .description(
      'register missing search attributes, and print a link for each list of work: opening it saves the view',
    )
    .option('--ui <address>', "address of Temporal's UI (default: that of the instance in this folder)")
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./operators.js')).setUpOperators(options));

  const index = program.command('index').description('manage the search index');
  index
    .command('rebuild')
    .description('write the search index again from MongoDB, or with --embed for another embedding model')
    .option('--database <id>', 'only the database with this internal id')
    .option('--embed', 'embed the chunks again with the configured model, beside the index in use')
    .option('--dry-run', 'with --embed: only print what would be embedded')
    .option('--all', 'with --embed: also databases that have vectors of the model')
    .option('--price <amount>', 'with --embed: price of a million tokens, for the estimate', asPrice)
    .option('--yes', 'with --embed: do not ask before it starts')
    .option('--json', 'print JSON')
    .action(async ({ embed, ...options }) => {
      if (embed) await (await import('./rebuild-embeddings.js')).rebuildEmbeddings(options);
      else await (await import('./rebuild-index.js')).rebuildIndex(options);
    });
  index
    .command('move')
    .description('move the search indexes of databases to another engine, while queries use the present ones')
    .addOption(new Option('--to <engine>', 'the engine').choices(SEARCH_ENGINES).makeOptionMandatory())
    .option('--database <id>', 'only the database with this internal id')
    .option('--dry-run', 'only print what would be moved')
    .option('--yes', 'do not ask before it starts')
    .option('--json', 'print JSON')
    .action(async ({ to, ...options }) => {
      await (await import('./rebuild-embeddings.js')).rebuildEmbeddings({ ...options, engine: to });
    });
  index
    .command('cancel')
    .description('cancel the rebuild or move that runs; databases that are not switched yet keep their index')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./rebuild-embeddings.js')).cancelRebuild(options));

  program
    .command('model')
    .description('manage the embedding model')
    .command('fetch')
    .description('download and check the embedding model')
    .option('--to <folder>', 'copy its files to this folder')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./fetch-model.js')).fetchModel(options));

  program
    .command('languages')
    .description('manage the languages of OCR')
    .command('fetch')
    .description('download and check the data of languages, all when none is named')
    .argument('[language...]', 'such as deu, fra or chi_sim')
    .option('--to <folder>', 'store the files in this folder')
    .option('--json', 'print JSON')
    .action(async (names, options) => (await import('./fetch-languages.js')).fetchLanguages(names, options));
  program
    .command('recogniser')
    .description('manage the second recogniser of OCR, which reads bad scans')
    .command('fetch')
    .description('download and check its models')
    .option('--to <folder>', 'store the files in this folder')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./fetch-recogniser.js')).fetchRecogniser(options));
  program.commandsGroup('Help:');
  addCompletion(program, { completionCommandName: 'completion' });
  program.commands.at(-1)!.description('print the script that completes commands in a shell');
  program.helpCommand('help [command]', 'show the help of a command');
  addExamples(program);
  // The list of all commands is longer than a terminal, and would hide the error above it.
  program.showHelpAfterError('Run `postback --help` to see all commands.');
  return program;
}

function asKind(value: string): KeyKind {
  if ((KEY_KINDS as readonly string[]).includes(value)) return value as KeyKind;
  throw new InvalidArgumentError(`Use one of ${KEY_KINDS.join(', ')}.`);
}

function asScopes(list: string): Scope[] {
  const names = list.split(',').map((name) => name.trim());
  if (names.every((name): name is Scope => (SCOPES as readonly string[]).includes(name))) return [...new Set(names)];
  throw new InvalidArgumentError(`Use one or more of ${SCOPES.join(', ')}, separated by commas.`);
}

function asPrice(text: string): number {
  const price = Number(text);
  if (text.trim() === '' || !(price >= 0)) throw new InvalidArgumentError('Use a number such as 0.02.');
  return price;
}

function asExpiry(value: string): Date | 'never' {
  if (value === 'never') return value;
  const days = /^(\d{1,5})d$/.exec(value)?.[1];
  const date = days === undefined ? new Date(value) : new Date(Date.now() + Number(days) * DAY_MS);
  if (Number.isNaN(date.getTime())) {
    throw new InvalidArgumentError('Use a number of days such as 90d, a date such as 2030-01-31, or never.');
  }
  if (date <= new Date()) throw new InvalidArgumentError('Use a date in the future, such as 2030-01-31.');
  return date;
}
