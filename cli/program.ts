import { createRequire } from 'node:module';
import addCompletion from '@bomb.sh/tab/commander';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { KEY_KINDS, type KeyKind, SCOPES, type Scope } from '../domain/api-keys.js';
import { SEARCH_ENGINES } from '../domain/content/index-generations.js';
import { QUOTAS } from '../domain/quotas.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { TASK_QUEUES } from '../domain/workflow-contract.js';
import { commandsOf, remoteCommandsOf } from './declare.js';
import { addExamples } from './examples.js';
import { LOGS } from './log-names.js';
import { addRemoteCommands, asNumber } from './remote/program.js';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };
/** Commands that print no result: they run until they are stopped, or speak to something else than a reader. */
const WITHOUT_RESULT = ['start', 'api', 'embedder', 'demo', 'mcp'];

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
  addProcesses(program);
  addRemoteCommands(program);

  program.commandsGroup('Administration, with access to MongoDB and Temporal:');
  addKeys(program);
  addLimits(program);
  const backup = commandsOf(program, () => import('./backup.js'));
  backup('backup', (it) => it.backUp)
    .description('write the database, and the files of the bucket, as they are at one time; the service may run')
    .argument('<file>', 'a new file, such as backup.ndjson.gz');
  backup('restore', (it) => it.restoreBackup)
    .description(
      'write a backup into an empty database, an empty bucket and the search index; the service must not run',
    )
    .argument('<file>', 'a file that `postback backup` wrote');
  addSealingKey(program);
  const operators = program.command('operators').description("prepare Temporal's UI for the people who run Postback");
  commandsOf(operators, () => import('./operators.js'))('setup', (it) => it.setUpOperators)
    .description(
      'register missing search attributes, and print a link for each list of work: opening it saves the view',
    )
    .option('--ui <address>', "address of Temporal's UI (default: that of the instance in this folder)");
  addIndex(program);
  addDownloads(program);
  addJson(program);

  program.commandsGroup('Help:');
  addCompletion(program, { completionCommandName: 'completion' });
  program.commands.at(-1)!.description('print the script that completes commands in a shell');
  program.helpCommand('help [command]', 'show the help of a command');
  addExamples(program);
  // The list of all commands is longer than a terminal, and would hide the error above it.
  program.showHelpAfterError('Run `postback --help` to see all commands.');
  return program;
}

function addProcesses(program: Command): void {
  commandsOf(program, () => import('./start.js'))('start', (it) => it.start).description(
    'run Temporal, MongoDB, the API, the embedding process and a worker on this machine',
  );
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
  commandsOf(worker, () => import('./rollout.js'))('promote', (it) => it.promote).description(
    'make the version of this release the current version of the workers (POSTBACK_WORKER_VERSIONING)',
  );
  program
    .command('embedder')
    .description('run the embedding process, which API and workers share (POSTBACK_EMBEDDER_SOCKET)')
    .action(async () => {
      (await import('./platform.js')).requirePlatform();
      await import('../embedder/main.js');
    });
  commandsOf(program, () => import('./rollout.js'))('replay-open', (it) => it.replayOpenExecutions).description(
    'before a rollout: replay all open executions on the code of this release',
  );
  remoteCommandsOf(program, () => import('./doctor.js'))('doctor', (it) => it.doctor).description(
    'check this installation, and say how to fix each problem',
  );
  const logs = program.command('logs').description('read the logs of the instance in this folder');
  commandsOf(logs, () => import('./logs.js'))('tail', (it) => it.tailLogs)
    .description('print the last lines, and follow the logs until Ctrl-C')
    .addArgument(new Argument('[names...]', 'which logs (default: all)').choices(LOGS))
    .option('--lines <number>', 'lines of each log before the new ones', asNumber, 10)
    .option('--json', 'print the logs as they are, in JSON')
    .option('--no-follow', 'end after these lines');
  commandsOf(program, () => import('./demo/index.js'))('demo', (it) => it.demo).description(
    'show the whole path: files, a query, an AI job, a crew that waits, and their verified callbacks',
  );
}

function addKeys(program: Command): void {
  const keys = commandsOf(program.command('keys').description('manage API keys'), () => import('./keys.js'));
  keys('create', (it) => it.createKey)
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
    );
  keys('list', (it) => it.listKeys)
    .description('list keys, without the keys themselves')
    .option('--org <name>', 'only the keys of this organisation');
  keys('revoke', (it) => it.revokeKey)
    .description('revoke a key')
    .argument('<id>', 'id of the key, as `keys list` shows it');

  const signingKeys = commandsOf(
    program.command('signing-key').description("manage the keys that sign the organisations' callbacks of AI jobs"),
    () => import('./keys.js'),
  );
  signingKeys('show', (it) => it.showSigningKeys)
    .description('print the public keys that receivers of an organisation may need, the current key first')
    .requiredOption('--org <name>', 'organisation');
  signingKeys('rotate', (it) => it.rotateSigningKey)
    .description('sign new jobs of an organisation with a new key; running jobs use the old key')
    .requiredOption('--org <name>', 'organisation');
}

function addSealingKey(program: Command): void {
  const group = program.command('sealing-key').description('manage the keys that seal stored secrets');
  commandsOf(group, () => import('./keys.js'))('rotate', (it) => it.rotateSealingKey).description(
    'seal every stored secret with the first key of POSTBACK_SEALING_KEY, while the service runs',
  );
}

function addLimits(program: Command): void {
  const orgs = program.command('orgs').description('manage organisations');
  const group = orgs.command('limits').description(`manage what an organisation may use: ${QUOTAS.join(', ')}`);
  const limits = commandsOf(group, () => import('./organisations.js'));
  limits('show', (it) => it.showLimits)
    .description('print what an organisation uses, and its limits')
    .requiredOption('--org <name>', 'the organisation');
  limits('set', (it) => it.setLimits)
    .description('set limits of an organisation, which replace those of the settings POSTBACK_QUOTA_…')
    .argument('<quota=limit...>', 'such as items=1000 or items=unlimited; 0 allows nothing')
    .requiredOption('--org <name>', 'the organisation');
  limits('clear', (it) => it.clearLimits)
    .description('remove limits of an organisation: those of the settings apply again')
    .argument('[quotas...]', 'names of quotas (default: all)')
    .requiredOption('--org <name>', 'the organisation');
}

function addIndex(program: Command): void {
  const group = program.command('index').description('manage the search index');
  const index = commandsOf(group, () => import('./rebuild-embeddings.js'));
  index('rebuild', (it) => it.rebuild)
    .description('write the search index again from MongoDB, or with --embed for another embedding model')
    .option('--database <id>', 'only the database with this internal id')
    .option('--embed', 'embed the chunks again with the configured model, beside the index in use')
    .option('--dry-run', 'with --embed: only print what would be embedded')
    .option('--all', 'with --embed: also databases that have vectors of the model')
    .option('--price <amount>', 'with --embed: price of a million tokens, for the estimate', asPrice)
    .option('--yes', 'with --embed: do not ask before it starts');
  index('move', (it) => it.move)
    .description('move the search indexes of databases to another engine, while queries use the present ones')
    .addOption(new Option('--to <engine>', 'the engine').choices(SEARCH_ENGINES).makeOptionMandatory())
    .option('--database <id>', 'only the database with this internal id')
    .option('--dry-run', 'only print what would be moved')
    .option('--yes', 'do not ask before it starts');
  index('cancel', (it) => it.cancelRebuild).description(
    'cancel the rebuild or move that runs; databases that are not switched yet keep their index',
  );
}

/** Commands that download what is otherwise fetched at its first use. */
function addDownloads(program: Command): void {
  const load = () => import('./fetch.js');
  const model = program.command('model').description('manage the embedding model');
  commandsOf(model, load)('fetch', (it) => it.fetchModel)
    .description('download and check the embedding model')
    .option('--to <folder>', 'copy its files to this folder');
  const languages = program.command('languages').description('manage the languages of OCR');
  commandsOf(languages, load)('fetch', (it) => it.fetchLanguages)
    .description('download and check the data of languages, all when none is named')
    .argument('[language...]', 'such as deu, fra or chi_sim')
    .option('--to <folder>', 'store the files in this folder');
  const recogniser = program
    .command('recogniser')
    .description('manage the second recogniser of OCR, which reads bad scans');
  commandsOf(recogniser, load)('fetch', (it) => it.fetchRecogniser)
    .description('download and check its models')
    .option('--to <folder>', 'store the files in this folder');
}

/** Adds `--json` to the commands that print a result and do not have it yet, as their last option. */
function addJson(command: Command): void {
  for (const each of command.commands) addJson(each);
  const printsResult = command.commands.length === 0 && !WITHOUT_RESULT.includes(command.name());
  if (printsResult && !command.options.some(({ long }) => long === '--json')) command.option('--json', 'print JSON');
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
