#!/usr/bin/env node
// `npm run smoke` checks in a few seconds that Postback works on the Node.js that runs this file. `npm test` covers behaviour
// on one version; this covers what may differ between versions: native packages, bundling, processes.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { prepare, root } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

const POSTBACK = join(root, 'bin', 'postback.mjs');
/** @temporalio/worker loads Temporal's native bridge. */
const NATIVE_PACKAGES = ['@lancedb/lancedb', 'onnxruntime-node', 'sharp', '@temporalio/worker'];
/** A text and an image: indexing them uses the embedding model, the image library and the search index. */
const EXAMPLES = ['visitor-notes.md', 'notice-board.png'].map((name) => join(root, 'examples', name));
const START_LIMIT_MS = 300_000;
const COMMAND_LIMIT_MS = 120_000;

/** Runs a command. @returns its output. @throws Error when it fails, as `ingest --watch` does when a file is not indexed */
async function postback(args, env = process.env) {
  return (await promisify(execFile)(process.execPath, [POSTBACK, ...args], { env, timeout: COMMAND_LIMIT_MS })).stdout;
}

async function checkCommandLine() {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  expect((await postback(['--version'])).trim() === version, `postback --version prints ${version}`);
  expect((await postback(['--help'])).startsWith('Usage: postback'), 'postback --help prints the usage');
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
  // Without the names of another server, commands use the instance of the data folder.
  const elsewhere = { POSTBACK_PROFILE: '', POSTBACK_URL: '', POSTBACK_API_KEY: '' };
  const env = { ...process.env, ...elsewhere, POSTBACK_DATA_DIR: dataDir, POSTBACK_API_PORT: '0' };
  const product = startProduct(env);
  try {
    await product.ready();
    const { api_url } = JSON.parse(readFileSync(join(dataDir, 'dev.json'), 'utf8'));
    expect((await fetch(`${api_url}/readyz`)).ok, '/readyz reports that the product is ready');
    const database = ['--database', 'smoke'];
    await postback(['databases', 'create', 'smoke'], env);
    await postback(['ingest', ...EXAMPLES, ...database, '--watch'], env);
    const { chunks } = JSON.parse(await postback(['query', 'lighthouse', ...database, '--max', '1', '--json'], env));
    expect(chunks.length === 1, 'a query finds a chunk');
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
function startProduct(env) {
  const child = spawn(process.execPath, [POSTBACK, 'start'], {
    cwd: root,
    env,
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
