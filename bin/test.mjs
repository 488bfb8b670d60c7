#!/usr/bin/env node
// Checks and tests the repository; HELP says how it is called.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { prepare, root, run } from './prepare.mjs';
import { continueOnSupportedNode } from './supported-node.mjs';

const HELP = `npm test                every check, and the tests of the product
npm run test:release    the tests of what a release ships (packages, image, chart, documents, benches), and of crashes, outages and changes
npm run test:fast       the tests of the product without the slow files (test/support/slow-files.ts lists them)
npm test -- <pattern>   only the test files whose path matches, without the other checks; test:release takes patterns too

The checks are formatting and lint (Biome), types, the direction of imports (dependency-cruiser), the running time of
regular expressions (ESLint), and known vulnerabilities of packages (npm audit).
`;

// For tests that load the embedding model in Jest's process: providers/embeddings/model-thread.ts says why.
process.env.ORT_DISABLE_TELEMETRY = '1';
// The processes of the tests load the same modules again and again: a sixth of what their start costs is the compiler.
process.env.NODE_COMPILE_CACHE = join(root, 'dist', '.compile-cache');

/** A file system in memory. */
const MEMORY = '/dev/shm';
/** A run writes up to 1.4 GB at a time. Twice as much stays free for the processes. */
const MEMORY_FOR_FILES = 4 * 1024 ** 3;
const RUN_FOLDER = /^postback-run-(\d+)-/;

const args = process.argv.slice(2);
if (args.includes('--help')) {
  console.log(HELP);
  process.exit(0);
}
const RELEASE = '/test/release/';
const everything = args.length === 0;

const tool = (...path) => join(root, 'node_modules', ...path);
const biome = [tool('@biomejs', 'biome', 'bin', 'biome'), 'check', '.'];
const dependencyCruiser = [
  tool('dependency-cruiser', 'bin', 'dependency-cruise.mjs'),
  ...'--config .dependency-cruiser.cjs --cache dist/.dependency-cruiser --cache-strategy content dist'.split(' '),
];
const eslint = [
  tool('eslint', 'bin', 'eslint.js'),
  ...'--cache --cache-location dist/.eslint --cache-strategy content dist'.split(' '),
];

const types = [tool('typescript', 'bin', 'tsc'), '-p', 'tsconfig.json'];
const audit = [join(root, 'bin', 'audit.mjs')];

/** Runs checks at the same time, and ends the process when one of them fails. */
async function check(...checks) {
  const codes = await Promise.all(checks);
  if (codes.some((code) => code !== 0)) finish({ passed: 0, failed: 1 });
}

/** Runs a tool, and prints its output under a title when it has ended. @returns its exit code */
function checkWith(title, command) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, command, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece) => output.push(piece));
    child.once('close', (code) => {
      console.error(`\n── ${title}\n${Buffer.concat(output)}`.trimEnd());
      resolve(code);
    });
  });
}

/**
 * A folder for one run: in memory where that is possible, because databases wait for the disk at each commit.
 * `TMPDIR` chooses another place.
 */
function temporaryFolder() {
  const place = process.env.TMPDIR === undefined && memoryHasRoom() ? MEMORY : tmpdir();
  // A run that was killed could not remove its folder.
  for (const name of readdirSync(place)) {
    const pid = RUN_FOLDER.exec(name)?.[1];
    if (pid !== undefined && hasEnded(Number(pid))) rmSync(join(place, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(place, `postback-run-${process.pid}-`));
}

function memoryHasRoom() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mount = readFileSync('/proc/mounts', 'utf8')
      .split('\n')
      .find((line) => line.split(' ')[1] === MEMORY);
    // Some tests compile programs and run them.
    const isExecutable = mount !== undefined && !mount.split(' ')[3].split(',').includes('noexec');
    return isExecutable && bavail * bsize > MEMORY_FOR_FILES && freemem() > 2 * MEMORY_FOR_FILES;
  } catch {
    return false; // Only Linux has it.
  }
}

function hasEnded(pid) {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** @returns Jest's options for the test files that the arguments name */
async function selection() {
  const patterns = args.filter((arg) => arg !== '--release').map((arg) => arg.replace(/\.ts$/, '.js'));
  if (args.includes('--release'))
    return patterns.length === 0 ? [RELEASE] : patterns.map((pattern) => `${RELEASE}.*${pattern}`);
  if (args.includes('--fast')) {
    const { SLOW_FILES } = await import('../dist/test/support/slow-files.js');
    return without(RELEASE, `/test/(${SLOW_FILES.join('|')})\\.test\\.js$`);
  }
  return everything ? without(RELEASE) : patterns;
}

function without(...patterns) {
  return patterns.map((pattern) => `--testPathIgnorePatterns=${pattern}`);
}

async function jest() {
  const folder = temporaryFolder();
  // Where the tests, and all that they start, keep their temporary files.
  process.env.TMPDIR = folder;
  // OCR's languages are kept from run to run, apart from this user's, who may have fetched the second recogniser too.
  const { defaultCacheDir } = await import('../dist/runtime/cache-dir.js');
  process.env.POSTBACK_OCR_LANGUAGES_DIR = join(defaultCacheDir(process.env), 'test-languages');
  const report = join(folder, 'jest.json');
  const code = await run(process.execPath, [
    // Jest's processes inherit these options. They allocate much that is soon garbage, and need a heap of hundreds of MB.
    '--max-semi-space-size=64',
    '--min-semi-space-size=32',
    '--initial-heap-size=600',
    '--import',
    pathToFileURL(join(root, 'dist', 'test', 'support', 'late-optimisation.js')).href,
    tool('jest', 'bin', 'jest.js'),
    '--json',
    `--outputFile=${report}`,
    ...(await selection()),
  ]);
  let result = { passed: 0, failed: 1 };
  try {
    const numbers = JSON.parse(readFileSync(report, 'utf8'));
    // A file that cannot be loaded has no tests to count, but it failed.
    const failed = numbers.numFailedTests + numbers.numRuntimeErrorTestSuites;
    result = { passed: numbers.numPassedTests, failed: code === 0 ? failed : Math.max(failed, 1) };
  } catch {
    console.error('Jest ended without a report.');
  }
  rmSync(folder, { recursive: true, force: true });
  return result;
}

function finish({ passed, failed }) {
  console.log(`${passed} passed, ${failed} failed`);
  process.exit(failed === 0 ? 0 : 1);
}

await continueOnSupportedNode();
try {
  await prepare({ tools: true });
} catch (error) {
  console.error(error.message);
  finish({ passed: 0, failed: 1 });
}
if (everything) {
  await check(checkWith('types', types), checkWith('lint and format', biome), checkWith('dependencies', audit));
  await check(checkWith('imports', dependencyCruiser), checkWith('regular expressions', eslint));
} else {
  await check(checkWith('types', types));
}
console.error('\n── tests');
finish(await jest());
