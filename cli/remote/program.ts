import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import { INDEXING_STATUSES } from '../../domain/content/states.js';
import { STREAMED_EVENTS } from '../../domain/events/events.js';
import { AUTHENTICATION_STATES } from '../../domain/payments/states.js';
import { DELIVERY_STATES } from '../../domain/webhooks/states.js';
import { withDetails } from './server.js';
import { TRIGGERS } from './trigger.js';

const LIST_LIMIT = 50;

/** Adds the commands that talk to a running server, wherever it runs. */
export function addRemoteCommands(program: Command): void {
  program.commandsGroup('Content, on this machine or another:');
  addDatabases(program);
  addContent(program);
  addItems(program);
  addTransfer(program);
  addAssistants(program);
  program.commandsGroup('Callbacks:');
  addCallbacks(program);
  addDeliveries(program);
  addEvents(program);
  program.commandsGroup('AI jobs, crews, payments and access:');
  addJobs(program);
  addCrews(program);
  addPayments(program);
  addProfiles(program);
  addEnvironment(program);
  remote(program.command('usage'))
    .description('print what the organisation uses, and its limits')
    .action(run(async (options) => (await import('./usage.js')).showUsage(options)));
}

function addProfiles(program: Command): void {
  const profiles = program.command('profiles').description('manage servers and keys, under names');
  profiles
    .command('add')
    .description('store a server and its keys')
    .argument('<name>')
    .requiredOption('--url <url>', 'address of the API')
    .requiredOption('--key <key>', 'a key; repeat it for keys of other kinds', append, [])
    .option('--json', 'print JSON')
    .action(async (name, options) => (await import('./profiles.js')).addProfile(name, options));
  profiles
    .command('list')
    .description('list profiles, without their keys')
    .option('--json', 'print JSON')
    .action(async (options) => (await import('./profiles.js')).listProfiles(options));
  profiles
    .command('remove')
    .description('remove a profile')
    .argument('<name>')
    .option('--json', 'print JSON')
    .action(async (name, options) => (await import('./profiles.js')).removeProfile(name, options));
}

function addEnvironment(program: Command): void {
  remote(program.command('env'))
    .description('print the address and the keys of a server as variables of a shell')
    .action(run(async (options) => (await import('./env.js')).printEnvironment(options)));
}

function addDatabases(program: Command): void {
  const databases = program.command('databases').description('manage databases');
  remote(databases.command('create'))
    .description('create a database and wait until it accepts items')
    .argument('<name>')
    .action(run(async (options, name) => (await import('./databases.js')).createDatabase(name, options)));
  remote(databases.command('list'))
    .description('list databases')
    .action(run(async (options) => (await import('./databases.js')).listDatabases(options)));
  remote(databases.command('stats'))
    .description('print how many items and bytes a database has')
    .argument('<name>')
    .action(run(async (options, name) => (await import('./databases.js')).showStatistics(name, options)));
  remote(databases.command('delete'))
    .description('delete a database with everything in it')
    .argument('<name>')
    .action(run(async (options, name) => (await import('./databases.js')).deleteDatabase(name, options)));
}

function addContent(program: Command): void {
  inCollection(remote(program.command('ingest')))
    .description('send files, whose paths become the ids of the items')
    .argument('<paths...>', 'files, folders, patterns such as "docs/**/*.md", or - for the standard input')
    .option('--watch', 'wait until each file is indexed, and show the progress')
    .addOption(new Option('--type <type>', 'of the items').choices(['knowledge', 'memory']))
    .option('--language <code>', 'language of scanned pages and pictures')
    .option('--metadata <json>', 'metadata of each item', asObject)
    .option('--no-upsert', 'reject files whose id exists, instead of replacing the items')
    .action(run(async (options, paths) => (await import('./ingest.js')).ingest(paths, options)));

  inCollection(remote(program.command('query')))
    .description('ask a database a question')
    .argument('<words...>', 'the question')
    .option('--max <number>', 'hits', asNumber, 3)
    .addOption(new Option('--by <way>', 'how to search').choices(['hybrid', 'text', 'vector']))
    .option('--graph', 'also print the relations between what the hits mention')
    .option('--expand <number>', 'chunks before and after each hit, 0 to 2', asNumber)
    .option('--max-tokens <number>', 'length of all hits together', asNumber)
    .option('--explain', 'print the parts of each score')
    .action(run(async (options, words) => (await import('./query.js')).query(words, options)));
}

function addTransfer(program: Command): void {
  remote(program.command('export'))
    .description('write the items of a database to a file of JSON lines; called again, it continues')
    .argument('<file>')
    .requiredOption('--database <name>', 'the database')
    .action(run(async (options, file) => (await import('./transfer.js')).exportDatabase(file, options)));
  remote(program.command('import'))
    .description('ingest such a file; called again, it continues')
    .argument('<file>')
    .requiredOption('--database <name>', 'the database')
    .action(run(async (options, file) => (await import('./transfer.js')).importDatabase(file, options)));
}

function addItems(program: Command): void {
  const items = program.command('items').description('list, read and delete items');
  inCollection(remote(items.command('list')))
    .description('list items, the newest first')
    .addOption(new Option('--status <status>', 'only items in this state').choices(INDEXING_STATUSES))
    .option('--limit <number>', 'the maximum number of entries', asNumber, LIST_LIMIT)
    .action(run(async (options) => (await import('./items.js')).listItems(options)));
  inCollection(remote(items.command('show')))
    .description('print an item and its text')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./items.js')).showItem(id, options)));
  inCollection(remote(items.command('delete')))
    .description('delete items, also while they are processed')
    .argument('<ids...>')
    .action(run(async (options, ids) => (await import('./items.js')).deleteItems(ids, options)));
}

function addDeliveries(program: Command): void {
  const deliveries = program
    .command('deliveries')
    .description('list, show and retry webhooks and callbacks: all, or those of items, AI jobs or a crew');
  ofService(deliveries.command('list'))
    .description('list deliveries, the newest first')
    .addOption(new Option('--status <status>', 'only deliveries in this state').choices(DELIVERY_STATES))
    .option('--doc-id <id>', 'only those of this item, job or execution')
    .option('--limit <number>', 'the maximum number of entries', asNumber, LIST_LIMIT)
    .action(run(async (options) => (await import('./deliveries.js')).listDeliveries(options)));
  ofService(deliveries.command('show'))
    .description('print a delivery, its attempts and its payload')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./deliveries.js')).showDelivery(id, options)));
  ofService(deliveries.command('retry'))
    .description('attempt a delivery again, now')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./deliveries.js')).retryDelivery(id, options)));
  ofService(deliveries.command('tail'))
    .description('print deliveries as they change, until Ctrl-C')
    .action(run(async (options) => (await import('./deliveries.js')).tailDeliveries(options)));
}

function addEvents(program: Command): void {
  remote(program.command('events'))
    .description('print changes of items, deliveries, AI jobs and crews as they happen, until Ctrl-C')
    .addOption(new Option('--types <types...>', 'only these types').choices(STREAMED_EVENTS))
    .option('--database <name>', 'only items of this database, and their deliveries')
    .action(run(async (options) => (await import('./events.js')).tailEvents(options)));
}

function addAssistants(program: Command): void {
  program
    .command('mcp')
    .description('serve the tools of an assistant (MCP) over standard input and output')
    .option('--profile <name>', 'the server of this profile (default: POSTBACK_PROFILE, else POSTBACK_URL)')
    .action(run(async (options) => (await import('./mcp.js')).serveMcp(options)));
}

function addCallbacks(program: Command): void {
  withKeys(remote(program.command('listen')))
    .description('receive callbacks on this machine, verify and print them, until Ctrl-C')
    .addOption(
      new Option('--port <number>', 'port on loopback; a free one when it is taken')
        .argParser(asNumber)
        .default(0, 'a free one'),
    )
    .option('--register', 'register it for the indexing webhooks of the organisation while it runs')
    .option('--database <name>', 'only the indexing webhooks of this database')
    .option('--crew <name>', 'only the callbacks of this crew')
    .option('--forward-to <url>', 'pass verified callbacks on, and respond as this receiver does')
    .action(run(async (options) => (await import('./listen.js')).listen(options)));

  remote(program.command('trigger'))
    .description('make the service send a callback')
    .addArgument(new Argument('<kind>', 'what it is about').choices(TRIGGERS))
    .option('--to <url>', 'the receiver; indexing webhooks go to the registered one')
    .option('--crew <name>', 'the crew to start (default: the first)')
    .action(run(async (options, kind) => (await import('./trigger.js')).trigger(kind, options)));

  withKeys(remote(program.command('verify')))
    .description('check the signature of a stored callback, of any age')
    .argument('<body>', 'file with the raw body')
    .requiredOption('--headers <file>', 'file with a header on each line, or a JSON object')
    .action(run(async (options, body) => (await import('./callbacks.js')).verify(body, options)));
}

function addJobs(program: Command): void {
  const jobs = program.command('jobs').description('run AI jobs');
  remote(jobs.command('run'))
    .description('submit a job')
    .argument('<model>', '<feature>/<subfeature>/<provider>, see `postback jobs models`')
    .argument('[file]', 'the file to work on')
    .option('--text <text>', 'the text to work on')
    .option('--input <json>', 'further fields of the input', asObject)
    .option('--webhook <url>', 'receiver of the result')
    .option('--header <name: value>', 'a header of the callback; repeat it for others', asHeader)
    .option('--wait', 'wait for the result and print it')
    .action(run(async (options, model, file) => (await import('./jobs.js')).runJob(model, file, options)));
  remote(jobs.command('models'))
    .description('list what jobs can do')
    .action(run(async (options) => (await import('./jobs.js')).listModels(options)));
  remote(jobs.command('list'))
    .description('list jobs, the newest first')
    .option('--limit <number>', 'the maximum number of entries', asNumber, LIST_LIMIT)
    .action(run(async (options) => (await import('./jobs.js')).listJobs(options)));
  remote(jobs.command('show'))
    .description('print a job and its result')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./jobs.js')).showJob(id, options)));
  remote(jobs.command('cancel'))
    .description('cancel a job')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./jobs.js')).cancelJob(id, options)));
}

function addCrews(program: Command): void {
  const crews = program.command('crews').description('start crews, and approve or reject their outputs');
  remote(crews.command('list'))
    .description('list crews, with warnings and problems')
    .action(run(async (options) => (await import('./crews.js')).listCrews(options)));
  remote(crews.command('kickoff'))
    .description('start an execution and print its id')
    .argument('<crew>')
    .option('--input <name=value>', 'an input; repeat it for others', asAssignment, {})
    .option('--webhook <url>', 'receiver of all events')
    .option('--header <name: value>', 'a header of the callbacks; repeat it for others', asHeader)
    .action(run(async (options, crew) => (await import('./crews.js')).kickoff(crew, options)));
  remote(crews.command('status'))
    .description('print the state of an execution')
    .argument('<crew>')
    .argument('<execution>')
    .action(run(async (options, crew, id) => (await import('./crews.js')).showExecution(crew, id, options)));
  remote(crews.command('executions'))
    .description('list the executions of a crew, the newest first')
    .argument('<crew>')
    .option('--limit <number>', 'the maximum number of entries', asNumber, LIST_LIMIT)
    .action(run(async (options, crew) => (await import('./crews.js')).listExecutions(crew, options)));
  remote(crews.command('waiting'))
    .description('print the outputs that wait for a person')
    .action(run(async (options) => (await import('./crews.js')).listWaiting(options)));
  remote(crews.command('approve'))
    .description('approve the output of an execution')
    .argument('<execution>')
    .option('--feedback <text>', 'context for the tasks that follow')
    .option('--webhook <url>', 'receiver of all events from now on (default: the receivers so far)')
    .option('--no-webhook', 'end the callbacks of the execution')
    .action(run(async (options, id) => (await import('./crews.js')).respond(id, true, options)));
  remote(crews.command('reject'))
    .description('reject the output of an execution, which then tries again with your feedback')
    .argument('<execution>')
    .requiredOption('--feedback <text>', 'what to change')
    .option('--webhook <url>', 'receiver of all events from now on (default: the receivers so far)')
    .option('--no-webhook', 'end the callbacks of the execution')
    .action(run(async (options, id) => (await import('./crews.js')).respond(id, false, options)));
  remote(crews.command('cancel'))
    .description('cancel an execution')
    .argument('<crew>')
    .argument('<execution>')
    .action(run(async (options, crew, id) => (await import('./crews.js')).cancelExecution(crew, id, options)));
}

function addPayments(program: Command): void {
  const payments = program.command('payments').description('create, list and close payment authentications');
  remote(payments.command('create'))
    .description('create an authentication and print its client secret once')
    .requiredOption('--amount <number>', "in the currency's minor unit: 1250 is 12.50", asNumber)
    .requiredOption('--currency <code>', 'such as EUR')
    .option('--return-url <url>', 'where the customer goes afterwards')
    .option('--webhook <url>', 'receiver of the callback when it has ended')
    .action(run(async (options) => (await import('./payments.js')).createAuthentication(options)));
  remote(payments.command('list'))
    .description('list authentications, the newest first')
    .addOption(new Option('--status <status>', 'only those in this state').choices(AUTHENTICATION_STATES))
    .option('--limit <number>', 'the maximum number of entries', asNumber, LIST_LIMIT)
    .action(run(async (options) => (await import('./payments.js')).listAuthentications(options)));
  remote(payments.command('show'))
    .description('print an authentication and the decision of its eligibility check')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./payments.js')).showAuthentication(id, options)));
  remote(payments.command('close'))
    .description('close an authentication: the payment is done')
    .argument('<id>')
    .action(run(async (options, id) => (await import('./payments.js')).closeAuthentication(id, options)));
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

/** Adds the options by which a command finds its server. */
export function remote(command: Command): Command {
  return command
    .option(
      '--profile <name>',
      'the server of this profile (default: POSTBACK_PROFILE, else POSTBACK_URL, else the instance in this folder)',
    )
    .option('--json', 'print JSON');
}

function inCollection(command: Command): Command {
  return command
    .requiredOption('--database <name>', 'the database')
    .option('--collection <name>', 'the collection in it');
}

function ofService(command: Command): Command {
  return remote(command)
    .option('--items', 'only webhooks of items')
    .addOption(new Option('--jobs', 'only callbacks of AI jobs').conflicts('items'))
    .addOption(new Option('--crew <name>', 'only callbacks of this crew').conflicts(['items', 'jobs']));
}

/**
 * Calls a command with its options, then its arguments. Errors of the server get their code and the id of the request.
 * Commander does not know the types of arguments and options; each command states its own.
 */
// biome-ignore lint/suspicious/noExplicitAny: see above
function run(command: (options: any, ...args: any[]) => Promise<void>) {
  return async (...passed: unknown[]) => {
    const args = passed.slice(0, -2);
    const options = passed.at(-2);
    try {
      await command(options, ...args);
    } catch (error) {
      throw withDetails(error);
    }
  };
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
