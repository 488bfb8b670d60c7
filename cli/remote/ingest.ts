import { statSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { MultiBar, Presets } from 'cli-progress';
import { glob, isDynamicPattern } from 'tinyglobby';
import { bodyOf, multipart, type Postback, type Schemas } from '../../client/index.js';
import { inBatches } from '../../domain/batches.js';
import { INDEXING_STATUS_TABLE, INDEXING_STATUSES } from '../../domain/content/states.js';
import { isFinalState } from '../../domain/state-machine.js';
import { FileOnDisk } from './file-on-disk.js';
import { inside } from './items.js';
import { isTerminal, paint, paintState, print } from './output.js';
import { findServer, type ServerOptions } from './server.js';

interface IngestOptions extends ServerOptions {
  database: string;
  collection?: string;
  type?: 'knowledge' | 'memory';
  language?: string;
  /** JSON text, stored with each item. */
  metadata?: Record<string, unknown>;
  upsert: boolean;
  watch?: boolean;
}

interface Source {
  id: string;
  file: File;
}

/** An accepted or rejected file; `status` changes while it is watched. */
type Outcome = Pick<Schemas['IngestResult'], 'id' | 'status' | 'unchanged'> & { error?: string };

/** A request has at most so many files and bytes, so that little is repeated when it fails. */
const BATCH = { count: 20, size: 32 * 1024 * 1024, sizeOf: ({ file }: Source) => file.size };
/** As many ids as one status request may have. */
const STATUS_IDS = 100;
/** Before each status request: many items are read less often. */
const POLL_MS = 250;

/**
 * `postback ingest`: sends files, folders, patterns and the standard input (`-`), with their paths as ids.
 * With `--watch` waits until each is indexed. The exit code is 1 when one failed.
 */
export async function ingest(paths: readonly string[], options: IngestOptions): Promise<void> {
  const client = findServer(options).client();
  const sources = await findSources(paths);
  if (sources.length === 0) throw new Error(`No files in ${paths.join(', ')}.`);
  const outcomes: Outcome[] = [];
  for (const batch of inBatches(sources, BATCH)) outcomes.push(...(await send(client, batch, options)));
  if (options.watch) await watch(client, outcomes, options);

  const failed = outcomes.filter(({ status }) => status === 'errored');
  const into = inside(options.database, options.collection);
  const next = [...(options.watch ? ['query', 'How often does the lamp flash?'] : ['items', 'list']), ...into];
  print({ ...options, next }, { results: outcomes, failed_count: failed.length }, () => summary(outcomes, failed));
  if (failed.length > 0) process.exitCode = 1;
}

async function findSources(paths: readonly string[]): Promise<Source[]> {
  const found = await Promise.all(paths.map(sourcesOf));
  return [...new Map(found.flat().map((source) => [source.id, source])).values()];
}

async function sourcesOf(path: string): Promise<Source[]> {
  if (path === '-') {
    const text = await buffer(process.stdin);
    return [{ id: 'stdin.txt', file: new File([text], 'stdin.txt') }];
  }
  if (isDynamicPattern(path)) {
    // The part of a path outside of this folder means nothing on another machine.
    return (await glob(path)).map((file) => ({ id: file.replace(/^(\.{0,2}\/)+/, ''), file: new FileOnDisk(file) }));
  }
  const stats = statSync(path, { throwIfNoEntry: false });
  if (!stats) throw new Error(`${path} does not exist.`);
  if (!stats.isDirectory()) return [{ id: basename(path), file: new FileOnDisk(path) }];
  // Hidden files and folders are left out.
  const files = await glob('**/*', { cwd: path, absolute: true });
  return files.sort().map((file) => ({ id: relative(path, file), file: new FileOnDisk(file) }));
}

async function send(client: Postback, batch: readonly Source[], options: IngestOptions): Promise<Outcome[]> {
  const { database, collection, type, language, metadata, upsert } = options;
  const documents = batch.map(({ file }) => file);
  const document_metadata = JSON.stringify(batch.map(({ id }) => ({ id, ...(metadata && { metadata }) })));
  const body = { database, collection, type, language, upsert: `${upsert}`, documents, document_metadata };
  const results = await ingestForm(client, body);
  return results.map(({ id, status, unchanged, error_code, error_message }) => {
    return {
      id,
      status,
      ...(unchanged && { unchanged }),
      ...(error_code && { error: `${error_code} ${error_message}` }),
    };
  });
}

/** Sends an ingest request. @param form its fields; objects in them are JSON already */
export async function ingestForm(client: Postback, form: object): Promise<Schemas['IngestResult'][]> {
  const options = { body: form as never, bodySerializer: () => multipart(form) };
  return (await bodyOf(client.POST('/context/ingest', options))).data.results;
}

/** Reads the statuses until each item has ended, and shows how many are in which state. */
async function watch(client: Postback, outcomes: Outcome[], options: IngestOptions): Promise<void> {
  const progress = options.json ? null : createProgress(outcomes.length);
  const open = () => outcomes.filter(({ status }) => !isFinalState(INDEXING_STATUS_TABLE, status));
  try {
    progress?.show(outcomes);
    for (let waiting = open(); waiting.length > 0; waiting = open()) {
      for (let start = 0; start < waiting.length; start += STATUS_IDS) {
        await wait(POLL_MS);
        await readStatuses(client, waiting.slice(start, start + STATUS_IDS), options);
        progress?.show(outcomes);
      }
    }
  } finally {
    progress?.stop();
  }
}

async function readStatuses(client: Postback, items: Outcome[], { database, collection = 'default' }: IngestOptions) {
  const query = { database, collection, ids: items.map(({ id }) => id) };
  const { data } = await bodyOf(client.GET('/context/status', { params: { query } }));
  const byId = new Map(data.statuses.map((status) => [status.id, status]));
  for (const item of items) {
    const { indexing_status, error_code, error_message } = byId.get(item.id) ?? {};
    if (!indexing_status) Object.assign(item, { status: 'errored', error: 'deleted while it was indexed' });
    else
      Object.assign(item, { status: indexing_status, ...(error_code && { error: `${error_code} ${error_message}` }) });
  }
}

/** A bar for each state on a terminal, with rate and remaining time; otherwise a line when an item ends. */
function createProgress(total: number) {
  if (!isTerminal()) {
    const reported = new Set<Outcome>();
    return {
      show(outcomes: readonly Outcome[]) {
        for (const outcome of outcomes) {
          if (reported.has(outcome) || !isFinalState(INDEXING_STATUS_TABLE, outcome.status)) continue;
          reported.add(outcome);
          console.log(`${outcome.status} ${outcome.id}`);
        }
      },
      stop() {},
    };
  }
  const started = Date.now();
  const bars = new MultiBar(
    { format: '{state} {bar} {value}/{total}  {note}', hideCursor: true },
    Presets.shades_classic,
  );
  const width = Math.max(...INDEXING_STATUSES.map((state) => state.length));
  const byState = new Map(
    INDEXING_STATUSES.map((state) => [
      state,
      bars.create(total, 0, { state: paintState(INDEXING_STATUS_TABLE, state, state.padEnd(width)), note: '' }),
    ]),
  );
  return {
    show(outcomes: readonly Outcome[]) {
      const ended = outcomes.filter(({ status }) => isFinalState(INDEXING_STATUS_TABLE, status)).length;
      const perSecond = ended / ((Date.now() - started) / 1_000);
      const left = ended === 0 ? '' : `${perSecond.toFixed(1)}/s, ${Math.ceil((total - ended) / perSecond)} s left`;
      for (const [state, bar] of byState) {
        bar.update(outcomes.filter(({ status }) => status === state).length, {
          note: state === 'completed' ? left : '',
        });
      }
    },
    stop: () => bars.stop(),
  };
}

function summary(outcomes: readonly Outcome[], failed: readonly Outcome[]): string {
  const unchanged = outcomes.filter(({ unchanged }) => unchanged).length;
  const completed = outcomes.filter(({ status, unchanged }) => status === 'completed' && !unchanged).length;
  const open = outcomes.length - unchanged - completed - failed.length;
  const counts = { completed, 'in progress': open, unchanged, failed: failed.length };
  const parts = Object.entries(counts).filter(([, count]) => count > 0);
  const lines = failed.map(({ id, error }) => `${paint('red', '✗')} ${id}: ${error}`);
  return [parts.map(([name, count]) => `${count} ${name}`).join(', '), ...lines].join('\n');
}
