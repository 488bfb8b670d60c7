import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { INDEXING_STATUSES } from '../../domain/content/states.js';
import { STREAMED_EVENTS } from '../../domain/events/events.js';
import { AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import { DELIVERY_STATES } from '../../domain/webhooks/states.js';
import { commandsOf, remoteCommandsOf } from '../declare.js';
import { TRIGGERS } from './trigger.js';

const LIST_LIMIT = 50;

/** Adds the commands that talk to a running server, wherever it runs. */
export function addRemoteCommands(program: Command): void {
  program.commandsGroup('Content, on this machine or another:');
  addDatabases(program);
  addContent(program);
  addItems(program);
  addTransfer(program);
  commandsOf(program, () => import('./mcp.js'))('mcp', (it) => it.serveMcp)
    .description('serve the tools of an assistant (MCP) over standard input and output')
    .option('--profile <name>', 'the server of this profile (default: POSTBACK_PROFILE, else POSTBACK_URL)');
  program.commandsGroup('Callbacks:');
  addCallbacks(program);
  addDeliveries(program);
  remoteCommandsOf(program, () => import('./events.js'))('events', (it) => it.tailEvents)
    .description('print changes of items, deliveries, AI jobs and crews as they happen, until Ctrl-C')
    .addOption(new Option('--types <types...>', 'only these types').choices(STREAMED_EVENTS))
    .option('--database <name>', 'only items of this database, and their deliveries');
  program.commandsGroup('AI jobs, crews, payments and access:');
  addJobs(program);
  addCrews(program);
  addPayments(program);
  addProfiles(program);
  remoteCommandsOf(program, () => import('./env.js'))('env', (it) => it.printEnvironment).description(
    'print the address and the keys of a server as variables of a shell',
  );
  remoteCommandsOf(program, () => import('./usage.js'))('usage', (it) => it.showUsage).description(
    'print what the organisation uses, and its limits',
  );
}

function addDatabases(program: Command): void {
  const group = program.command('databases').description('manage databases');
  const declare = remoteCommandsOf(group, () => import('./databases.js'));
  declare('create <name>', (it) => it.createDatabase).description('create a database and wait until it accepts items');
  declare('list', (it) => it.listDatabases).description('list databases');
  declare('stats <name>', (it) => it.showStatistics).description('print how many items and bytes a database has');
  declare('delete <name>', (it) => it.deleteDatabase).description('delete a database with everything in it');
}

function addContent(program: Command): void {
  const ingest = remoteCommandsOf(program, () => import('./ingest.js'));
  inCollection(ingest('ingest', (it) => it.ingest))
    .description('send files, whose paths become the ids of the items')
    .argument('<paths...>', 'files, folders, patterns such as "docs/**/*.md", or - for the standard input')
    .option('--watch', 'wait until each file is indexed, and show the progress')
    .addOption(new Option('--type <type>', 'of the items').choices(['knowledge', 'memory']))
    .option('--language <code>', 'language of scanned pages and pictures')
    .option('--metadata <json>', 'metadata of each item', asObject)
    .option('--no-upsert', 'reject files whose id exists, instead of replacing the items');

  const query = remoteCommandsOf(program, () => import('./query.js'));
  inCollection(query('query', (it) => it.query))
    .description('ask a database a question')
    .argument('<words...>', 'the question')
    .option('--max <number>', 'hits', asNumber, 3)
    .addOption(new Option('--by <way>', 'how to search').choices(['hybrid', 'text', 'vector']))
    .option('--graph', 'also print the relations between what the hits mention')
    .option('--expand <number>', 'chunks before and after each hit, 0 to 2', asNumber)
    .option('--max-tokens <number>', 'length of all hits together', asNumber)
    .option('--explain', 'print the parts of each score');
}

function addItems(program: Command): void {
  const group = program.command('items').description('list, read and delete items');
  const declare = remoteCommandsOf(group, () => import('./items.js'));
  inCollection(declare('list', (it) => it.listItems))
    .description('list items, the newest first')
    .addOption(new Option('--status <status>', 'only items in this state').choices(INDEXING_STATUSES))
    .addOption(limitOption());
  inCollection(declare('show <id>', (it) => it.showItem)).description('print an item and its text');
  inCollection(declare('delete <ids...>', (it) => it.deleteItems)).description(
    'delete items, also while they are processed',
  );
}

function addTransfer(program: Command): void {
  const declare = remoteCommandsOf(program, () => import('./transfer.js'));
  declare('export <file>', (it) => it.exportDatabase)
    .description('write the items of a database to a file of JSON lines; called again, it continues')
    .requiredOption('--database <name>', 'the database');
  declare('import <file>', (it) => it.importDatabase)
    .description('ingest such a file; called again, it continues')
    .requiredOption('--database <name>', 'the database');
}

function addDeliveries(program: Command): void {
  const group = program
    .command('deliveries')
    .description('list, show and retry webhooks and callbacks: all, or those of items, AI jobs or a crew');
  const declare = remoteCommandsOf(group, () => import('./deliveries.js'));
  ofService(declare('list', (it) => it.listDeliveries))
    .description('list deliveries, the newest first')
    .addOption(new Option('--status <status>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .option('--doc-id <id>', 'only those of this item, job or execution')
    .addOption(limitOption());
  ofService(declare('show <id>', (it) => it.showDelivery)).description(
    'print a delivery, its attempts and its payload',
  );
  ofService(declare('retry <id>', (it) => it.retryDelivery)).description('attempt a delivery again, now');
  ofService(declare('tail', (it) => it.tailDeliveries)).description('print deliveries as they change, until Ctrl-C');
}

function addCallbacks(program: Command): void {
  const listen = remoteCommandsOf(program, () => import('./listen.js'));
  withKeys(
    listen('listen', (it) => it.listen).description(
      'receive callbacks on this machine, verify and print them, until Ctrl-C',
    ),
  )
    .addOption(
      new Option('--port <number>', 'port on loopback; a free one when it is taken')
        .argParser(asNumber)
        .default(0, 'a free one'),
    )
    .option('--register', 'register it for the indexing webhooks of the organisation while it runs')
    .option('--database <name>', 'only the indexing webhooks of this database')
    .option('--crew <name>', 'only the callbacks of this crew')
    .option('--forward-to <url>', 'pass verified callbacks on, and respond as this receiver does');

  const trigger = remoteCommandsOf(program, () => import('./trigger.js'));
  trigger('trigger', (it) => it.trigger)
    .description('make the service send a callback')
    .addArgument(new Argument('<kind>', 'what it is about').choices(TRIGGERS))
    .option('--to <url>', 'the receiver; indexing webhooks go to the registered one')
    .option('--crew <name>', 'the crew to start (default: the first)');

  const verify = remoteCommandsOf(program, () => import('./callbacks.js'));
  withKeys(verify('verify', (it) => it.verify))
    .description('check the signature of a stored callback, of any age')
    .argument('<body>', 'file with the raw body')
    .requiredOption('--headers <file>', 'file with a header on each line, or a JSON object');
}

function addJobs(program: Command): void {
  const group = program.command('jobs').description('run AI jobs');
  const declare = remoteCommandsOf(group, () => import('./jobs.js'));
  declare('run', (it) => it.runJob)
    .description('submit a job')
    .argument('<model>', '<feature>/<subfeature>/<provider>, see `postback jobs models`')
    .argument('[file]', 'the file to work on')
    .option('--text <text>', 'the text to work on')
    .option('--input <json>', 'further fields of the input', asObject)
    .option('--webhook <url>', 'receiver of the result')
    .option('--header <name: value>', 'a header of the callback; repeat it for others', asHeader)
    .option('--wait', 'wait for the result and print it');
  declare('models', (it) => it.listModels).description('list what jobs can do');
  declare('list', (it) => it.listJobs)
    .description('list jobs, the newest first')
    .addOption(limitOption());
  declare('show <id>', (it) => it.showJob).description('print a job and its result');
  declare('cancel <id>', (it) => it.cancelJob).description('cancel a job');
}

function addCrews(program: Command): void {
  const group = program.command('crews').description('start crews, and approve or reject their outputs');
  const declare = remoteCommandsOf(group, () => import('./crews.js'));
  declare('list', (it) => it.listCrews).description('list crews, with warnings and problems');
  declare('kickoff <crew>', (it) => it.kickoff)
    .description('start an execution and print its id')
    .option('--input <name=value>', 'an input; repeat it for others', asAssignment, {})
    .option('--webhook <url>', 'receiver of all events')
    .option('--header <name: value>', 'a header of the callbacks; repeat it for others', asHeader);
  declare('status <crew> <execution>', (it) => it.showExecution).description('print the state of an execution');
  declare('executions <crew>', (it) => it.listExecutions)
    .description('list the executions of a crew, the newest first')
    .addOption(limitOption());
  declare('waiting', (it) => it.listWaiting).description('print the outputs that wait for a person');
  withReceiver(
    declare('approve <execution>', (it) => it.approve)
      .description('approve the output of an execution')
      .option('--feedback <text>', 'context for the tasks that follow'),
  );
  withReceiver(
    declare('reject <execution>', (it) => it.reject)
      .description('reject the output of an execution, which then tries again with your feedback')
      .requiredOption('--feedback <text>', 'what to change'),
  );
  declare('cancel <crew> <execution>', (it) => it.cancelExecution).description('cancel an execution');
}

function addPayments(program: Command): void {
  const group = program.command('payments').description('create, list and close payment authentications');
  const declare = remoteCommandsOf(group, () => import('./payments.js'));
  declare('create', (it) => it.createAuthentication)
    .description('create an authentication and print its client secret once')
    .requiredOption('--amount <number>', "in the currency's minor unit: 1250 is 12.50", asNumber)
    .requiredOption('--currency <code>', 'such as EUR')
    .option('--return-url <url>', 'where the customer goes afterwards')
    .option('--webhook <url>', 'receiver of the callback when it has ended');
  declare('list', (it) => it.listAuthentications)
    .description('list authentications, the newest first')
    .addOption(new Option('--status <status>', 'only those in this state').choices(AUTHENTICATION_STATES))
    .addOption(limitOption());
  declare('show <id>', (it) => it.showAuthentication).description(
    'print an authentication and the decision of its eligibility check',
  );
  declare('close <id>', (it) => it.closeAuthentication).description('close an authentication: the payment is done');
}

function addProfiles(program: Command): void {
  const group = program.command('profiles').description('manage servers and keys, under names');
  const declare = commandsOf(group, () => import('./profiles.js'));
  declare('add <name>', (it) => it.addProfile)
    .description('store a server and its keys')
    .requiredOption('--url <url>', 'address of the API')
    .requiredOption('--key <key>', 'a key; repeat it for keys of other kinds', append, []);
  declare('list', (it) => it.listProfiles).description('list profiles, without their keys');
  declare('remove <name>', (it) => it.removeProfile).description('remove a profile');
}

/** Adds the options that say how signatures are checked. */
function withKeys(command: Command): Command {
  return command
    .addOption(
      new Option('--secret <secret>', 'a signing secret; repeat it for others')
        .argParser(append)
        .default([], 'POSTBACK_SIGNING_SECRET'),
    )
    .option('--public-key <file>', 'public keys of AI jobs, PEM (default: those of the server)');
}

/** Adds the options that say where the callbacks of an execution go. */
function withReceiver(command: Command): Command {
  return command
    .option('--webhook <url>', 'receiver of all events from now on (default: the receivers so far)')
    .option('--no-webhook', 'end the callbacks of the execution');
}

function inCollection(command: Command): Command {
  return command
    .requiredOption('--database <name>', 'the database')
    .option('--collection <name>', 'the collection in it');
}

function ofService(command: Command): Command {
  return command
    .option('--items', 'only webhooks of items')
    .addOption(new Option('--jobs', 'only callbacks of AI jobs').conflicts('items'))
    .addOption(new Option('--crew <name>', 'only callbacks of this crew').conflicts(['items', 'jobs']));
}

function limitOption(): Option {
  return new Option('--limit <number>', 'the maximum number of entries').argParser(asNumber).default(LIST_LIMIT);
}

function append(value: string, values: string[]): string[] {
  return [...values, value];
}

function asAssignment(text: string, values: Record<string, string>): Record<string, string> {
  const [name = '', ...value] = text.split('=');
  if (name === '' || value.length === 0) throw new InvalidArgumentError('Use name=value.');
  return { ...values, [name]: value.join('=') };
}

function asHeader(text: string, headers: Record<string, string> = {}): Record<string, string> {
  const colon = text.indexOf(':');
  if (colon < 1) throw new InvalidArgumentError('Use "name: value".');
  return { ...headers, [text.slice(0, colon).trim()]: text.slice(colon + 1).trim() };
}

export function asNumber(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('Use a whole number from 1.');
  return number;
}

function asObject(text: string): Record<string, unknown> {
  try {
    const value = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  throw new InvalidArgumentError('Use a JSON object such as {"year": 2026}.');
}
