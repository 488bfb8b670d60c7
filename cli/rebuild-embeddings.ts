import { createInterface } from 'node:readline/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { describeModel } from '../domain/content/embedding-models.js';
import type { SearchEngine } from '../domain/content/index-generations.js';
import { createDatabaseIndexes, type DatabaseIndexes } from '../storage/content/database-indexes.js';
import { createIndexRebuilds, type IndexRebuildRecord, type RebuildPlan } from '../storage/content/index-rebuilds.js';
import { createStarters, type Starters } from '../temporal/starters.js';
import { withCollections, withTemporal } from './connections.js';
import { print } from './remote/output.js';

interface RebuildOptions {
  /** Internal id of the only database. */
  database?: string;
  /** Also databases that have all vectors of the model. */
  all?: boolean;
  dryRun?: boolean;
  /** Moves databases of other engines there, instead of embedding. */
  engine?: SearchEngine;
  /** Does not ask. */
  yes?: boolean;
  /** Price of a million tokens, for the estimate. */
  price?: number;
  /** Print the plan or the outcome as JSON; the progress then goes to the standard error. */
  json?: boolean;
}

const POLL_MS = 500;
/** After this time without a plan a hint is printed: plans take longer only for millions of chunks. */
const HINT_MS = 15_000;
/** Between two lines of progress. */
const PROGRESS_MS = 5_000;
/** Characters of English text; the tokenizer of a model may differ by a quarter. */
const CHARACTERS_PER_TOKEN = 4;
/** Texts of one call. */
const TEXTS_PER_CALL = 64;

/** `postback index rebuild` */
export async function rebuild({ embed, ...options }: RebuildOptions & { embed?: boolean }): Promise<void> {
  if (embed) await rebuildEmbeddings(options);
  else await (await import('./rebuild-index.js')).rebuildIndex(options);
}

/** `postback index move` */
export function move({ to, ...options }: RebuildOptions & { to: SearchEngine }): Promise<void> {
  return rebuildEmbeddings({ ...options, engine: to });
}

/**
 * `postback index rebuild --embed` and `postback index move`: prints what is to be embedded or moved, then starts the
 * workflow that does it and shows its progress. The workflow goes on when this process ends; the same command shows it again.
 */
async function rebuildEmbeddings(options: RebuildOptions): Promise<void> {
  const say = options.json ? console.error : console.log;
  await withRebuilds(async (rebuilds, starters, databaseIndexes) => {
    const { database = null, all = false, engine } = options;
    if (database !== null) await databaseIndexes.requireOfAny(database);
    const running = await rebuilds.getRunning();
    if (running) {
      say(`A rebuild is running (${running._id}).`);
      // After a termination of its workflow, it continues.
      if (!options.dryRun) await starters.startRebuild(running._id);
      if (!options.dryRun) return follow(rebuilds, running._id, options);
      if (options.json) printRebuild(running);
      return;
    }
    const request = { database, all, ...(engine ? { engine } : {}) };
    const planned = await rebuilds.add(request, 'planning');
    await starters.startRebuild(planned._id);
    const hint = setTimeout(() => console.error('No plan yet: is a worker for the queue content running?'), HINT_MS);
    const { plan } = await until(rebuilds, planned._id, ({ status }) => status !== 'planning');
    clearTimeout(hint);
    if (!plan) return fail(rebuilds, planned._id);
    for (const line of describePlan(plan, options)) say(line);
    if (options.dryRun || plan.databases === 0 || !(options.yes || (await confirmed()))) {
      if (options.json) console.log(JSON.stringify({ plan }, null, 2));
      return;
    }
    const rebuild = await rebuilds.add(request, 'running');
    await starters.startRebuild(rebuild._id);
    await follow(rebuilds, rebuild._id, options);
  });
}

/** `postback index cancel`: stops the rebuild that runs. Databases that are not switched yet keep their index. */
export async function cancelRebuild({ json }: { json?: boolean }): Promise<void> {
  await withRebuilds(async (rebuilds, starters) => {
    const running = await rebuilds.getRunning();
    if (!running) return print({ json }, { cancelled: null }, () => 'No rebuild is running.');
    // If its workflow was terminated, a new run takes the request.
    await starters.startRebuild(running._id);
    await starters.cancelRebuild(running._id);
    await until(rebuilds, running._id, ({ status }) => status !== 'running');
    print({ json }, { cancelled: running._id }, () => `The rebuild ${running._id} is cancelled.`);
  });
}

type Rebuilds = ReturnType<typeof createIndexRebuilds>;

function withRebuilds(
  use: (rebuilds: Rebuilds, starters: Starters, databaseIndexes: DatabaseIndexes) => Promise<void>,
): Promise<void> {
  return withCollections((collections, config) =>
    withTemporal(config, (client) =>
      use(createIndexRebuilds(collections), createStarters(client), createDatabaseIndexes(collections)),
    ),
  );
}

async function until(
  rebuilds: Rebuilds,
  id: string,
  isDone: (rebuild: IndexRebuildRecord) => boolean,
): Promise<IndexRebuildRecord> {
  for (;;) {
    const rebuild = await rebuilds.getById(id);
    if (!rebuild) throw new Error(`There is no rebuild ${id}.`);
    if (isDone(rebuild)) return rebuild;
    await wait(POLL_MS);
  }
}

/** Prints the progress until the rebuild ends. */
async function follow(rebuilds: Rebuilds, id: string, { json }: Pick<RebuildOptions, 'json'>): Promise<void> {
  const say = json ? console.error : console.log;
  say(`Rebuild ${id}: it goes on when you press Ctrl-C; "postback index cancel" stops it.`);
  let shown = '';
  let shownAt = Number.NEGATIVE_INFINITY;
  const ended = await until(rebuilds, id, (rebuild) => {
    const line = progressOf(rebuild);
    if (line !== shown && performance.now() - shownAt > PROGRESS_MS) {
      say(line);
      [shown, shownAt] = [line, performance.now()];
    }
    return rebuild.status !== 'running';
  });
  if (json) printRebuild(ended);
  if (ended.status === 'failed') return fail(rebuilds, id);
  say(progressOf(ended));
  say(
    ended.status === 'completed'
      ? `Done: queries use ${ended.engine ?? describeModel(ended.plan?.model ?? null)}.`
      : 'Cancelled: databases that were not switched keep their index.',
  );
  if (ended.status !== 'completed') process.exitCode = 1;
}

function printRebuild({ _id: id, status, plan, handled, embedded, error }: IndexRebuildRecord): void {
  console.log(JSON.stringify({ id, status, plan, handled, embedded, error }, null, 2));
}

function progressOf({ plan, handled, embedded, remaining, error }: IndexRebuildRecord): string {
  if (!plan) return error === null ? 'Counting the chunks' : `Waiting: ${error}`;
  const percent = plan.chunks === 0 ? 100 : Math.min(100, Math.floor((handled / plan.chunks) * 100));
  const counts = `${handled} of ${plan.chunks} chunks (${percent} %), ${embedded} embedded; databases switched: ${plan.databases - remaining.length} of ${plan.databases}`;
  return error === null ? counts : `${counts}. Waiting: ${error}`;
}

function describePlan(plan: RebuildPlan, { price, engine }: RebuildOptions): string[] {
  const { model, databases, chunks, to_embed: toEmbed, characters, list } = plan;
  if (engine) return describeMove(plan, engine);
  if (databases === 0) {
    return [`All databases have vectors of ${describeModel(model)}. To embed them again, use --all.`];
  }
  const tokens = Math.ceil(characters / CHARACTERS_PER_TOKEN);
  const cost =
    price === undefined
      ? 'with --price <per million tokens>, the cost is estimated'
      : `about ${((tokens / 1_000_000) * price).toFixed(2)} at ${price} per million tokens`;
  return [
    `Change to ${describeModel(model)}:`,
    ...list.map(
      ({ _id, org, name, from, to_embed, chunks: own }) =>
        `  ${org}/${name} (${_id}): ${describeModel(from)}, ${to_embed} of ${own} chunks to embed`,
    ),
    ...(databases > list.length ? [`  and ${databases - list.length} other databases`] : []),
    `${toEmbed} of ${chunks} chunks in ${databases} databases: about ${characters} characters, ${tokens} tokens, ${Math.ceil(toEmbed / TEXTS_PER_CALL)} calls of the model or more; ${cost}.`,
  ];
}

function describeMove({ databases, chunks, list }: RebuildPlan, engine: SearchEngine): string[] {
  if (databases === 0) return [`All databases are in ${engine}.`];
  return [
    `Move to ${engine}:`,
    ...list.map(({ _id, org, name, chunks: own }) => `  ${org}/${name} (${_id}): ${own} chunks`),
    ...(databases > list.length ? [`  and ${databases - list.length} other databases`] : []),
    `${chunks} chunks in ${databases} databases.`,
  ];
}

/** Asks only in a terminal; a script does not wait for an answer. */
async function confirmed(): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return true;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const response = await terminal.question('Start? [y/N] ');
  terminal.close();
  return /^y(es)?$/i.test(response.trim());
}

async function fail(rebuilds: Rebuilds, id: string): Promise<void> {
  console.error((await rebuilds.getById(id))?.error ?? 'The rebuild could not be planned.');
  process.exitCode = 1;
}
