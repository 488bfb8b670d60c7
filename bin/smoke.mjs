#!/usr/bin/env node
// `npm run smoke` checks in a few seconds that Postback works on the Node.js that runs this file. `npm test` covers behaviour
// on one version; this covers what may differ between versions: native packages, bundling, processes.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openAsBlob, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { prepare, root } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

const POSTBACK = join(root, 'bin', 'postback.mjs');
/** @temporalio/worker loads Temporal's native bridge. */
const NATIVE_PACKAGES = ['@lancedb/lancedb', 'onnxruntime-node', 'sharp', '@temporalio/worker'];
/** A text and an image: indexing them uses the embedding model, the image library and the search index. */
const EXAMPLES = ['visitor-notes.md', 'notice-board.png'];
const QUESTION = { query: 'lighthouse', max_results: 1 };
const START_LIMIT_MS = 300_000;
const WAIT_LIMIT_MS = 120_000;

async function checkCommandLine() {
  const postback = async (option) => (await promisify(execFile)(process.execPath, [POSTBACK, option])).stdout;
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect((await postback('--version')).trim() === version, `postback --version prints ${version}`);
  expect((await postback('--help')).startsWith('Usage: postback'), 'postback --help prints the usage');
}

async function checkNativePackages() {
  for (const name of NATIVE_PACKAGES) await import(name);
}

/** Bundles the workflows without the cache, which may hold a bundle made by another version of Node.js. */
async function checkWorkflowBundle() {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const workflowsPath = join(root, 'dist', 'workflows', 'index.js');
  await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
}

async function checkProduct() {
  const dataDir = mkdtempSync(join(tmpdir(), 'postback-smoke-'));
  const product = startProduct(dataDir);
  try {
    await product.ready();
    const { api_url, keys } = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'));
    expect((await fetch(`${api_url}/readyz`)).ok, '/readyz reports that the product is ready');
    await ingestExamples(createApi(api_url, keys.api));
    expect((await product.stop()) === 0, 'the product stops with exit code 0');
  } catch (error) {
    console.error(product.output());
    throw error;
  } finally {
    await product.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Runs `npm start` with its own data folder. It stops when this process ends, because its IPC channel closes. */
function startProduct(dataDir) {
  const child = spawn(process.execPath, [POSTBACK, 'start'], {
    cwd: root,
    env: { ...process.env, POSTBACK_DATA_DIR: dataDir, POSTBACK_API_PORT: '0' },
    // In its own process group, so that Ctrl-C reaches it through this process only.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const chunks = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk));
  const exited = once(child, 'exit');
  return {
    output: () => Buffer.concat(chunks).toString(),
    async ready() {
      const message = once(child, 'message', { signal: AbortSignal.timeout(START_LIMIT_MS) });
      await Promise.race([message, exited.then(([code]) => expect(false, `the product starts (exit code ${code})`))]);
    },
    async stop() {
      child.kill('SIGTERM');
      const [code] = await exited;
      return code;
    },
  };
}

async function ingestExamples(api) {
  const database = 'smoke';
  await api('POST', '/databases', JSON.stringify({ database }));
  await until('the database is ready', async () => {
    return (await api('GET', `/databases/status?database=${database}`)).infra.ready_for_ingestion;
  });
  const form = new FormData();
  form.set('database', database);
  form.set('document_metadata', JSON.stringify(EXAMPLES.map((id) => ({ id }))));
  for (const name of EXAMPLES) form.append('documents', await openAsBlob(join(root, 'examples', name)), name);
  await api('POST', '/context/ingest', form);
  await until('all items are completed', async () => {
    const { statuses } = await api('GET', `/context/status?database=${database}&ids=${EXAMPLES}`);
    const failed = statuses.find((item) => item.indexing_status === 'errored');
    expect(!failed, `${failed?.id} is indexed (${failed?.error_message})`);
    return statuses.every((item) => item.indexing_status === 'completed');
  });
  const { chunks } = await api('POST', '/query', JSON.stringify({ database, ...QUESTION }));
  expect(chunks.length === 1, 'a query finds a chunk');
}

function createApi(url, key) {
  const headers = { Authorization: `Bearer ${key}`, 'API-Version': '2' };
  return async (method, path, body) => {
    const type = typeof body === 'string' ? { 'Content-Type': 'application/json' } : {};
    const response = await fetch(url + path, { method, headers: { ...headers, ...type }, body });
    const { data, error } = await response.json();
    expect(!error, `${method} ${path} succeeds (${error?.code}: ${error?.message})`);
    return data;
  };
}

async function until(what, condition) {
  const deadline = Date.now() + WAIT_LIMIT_MS;
  while (!(await condition())) {
    expect(Date.now() < deadline, `${what} within ${WAIT_LIMIT_MS / 1000} s`);
    await wait(100);
  }
}

function expect(condition, what) {
  if (!condition) throw new Error(`expected that ${what}`);
}

async function step(title, work) {
  const startedAt = Date.now();
  await work();
  console.error(`  ${title} (${((Date.now() - startedAt) / 1000).toFixed(1)} s)`);
}

await continueOnSupportedNode();
try {
  await prepare({ tools: false });
  await step('command line', checkCommandLine);
  await step('native packages', checkNativePackages);
  await step('workflow bundle', checkWorkflowBundle);
  await step('start, ingest, query, stop', checkProduct);
} catch (error) {
  console.error(error);
  console.log(`smoke test failed on Node ${process.version}`);
  process.exit(1);
}
console.log(`smoke test passed on Node ${process.version}`);
// Threads of the native packages may keep the process alive.
process.exit(0);
