// Prepares the repository for a command: installs the packages and compiles the TypeScript sources.
// Plain JavaScript without dependencies, because it runs before any are installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prune } from './prune.mjs';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));

const BUILT_MARK = join(root, 'dist', '.postback-built');
const LOCK_DIR = join(root, '.postback', 'prepare.lock');
/** Signals that are passed on to the running command, which would otherwise outlive this process. */
const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const NOT_SOURCE = new Set(['node_modules', 'dist']);
/** A workspace of its own: the product's installation does not have its packages. */
const BENCH = join(root, 'bench');

/** Runs a command in the repository, with output to this terminal. @returns its exit code */
export function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit' });
    const forward = (signal) => child.kill(signal);
    for (const signal of FORWARDED_SIGNALS) process.on(signal, forward);
    const ended = (code) => {
      for (const signal of FORWARDED_SIGNALS) process.off(signal, forward);
      resolve(code);
    };
    child.once('error', (error) => {
      console.error(`${command}: ${error.message}`);
      ended(127);
    });
    child.once('exit', (code, signal) => ended(signal ? 1 : code));
  });
}

/**
 * Installs the packages when they are missing or the lock file has changed.
 * Does nothing without TypeScript sources (in a production image).
 * @throws Error when npm fails
 */
export async function install() {
  if (!shippedWithSources()) return;
  // npm never packs a lock file; bin/pack.mjs adds it under another name.
  if (!existsSync(join(root, 'package-lock.json'))) {
    throw new Error(
      'This package was made by npm pack without its scripts, which add the compiled code and the lock file.' +
        ' Make it again with: npm run pack',
    );
  }
  await installIn(root, 'Installing packages with npm ci. The first time takes about a minute …');
}

/** Installs the packages that only benchmarks use, when they are missing or their lock file has changed. @throws Error when npm fails */
export async function installBench() {
  await installIn(BENCH, 'Installing the packages of bench/ with npm ci …');
}

async function installIn(folder, message) {
  if (installed(folder)) return;
  await withLock(async () => {
    if (installed(folder)) return;
    console.error(message);
    await npmCi(folder, '--include=dev');
    prune(join(folder, 'node_modules'));
    writeFileSync(markOf(folder), lockHash(folder));
  });
}

/** Installs what a folder's lock file names, without install scripts. @throws Error that says what to do */
export async function npmCi(folder, which) {
  const code = await run('npm', ['ci', '--prefix', folder, which, '--ignore-scripts', '--no-fund', '--no-audit']);
  if (code === 0) return;
  throw new Error(
    `npm ci failed with code ${code}; see its output above. The first use needs a package registry: check the network,` +
      ' set HTTPS_PROXY, or name a registry that you can reach (npm config set registry <url>). ENOSPC means a full disk:' +
      ' the packages of the product need 1.5 GB.',
  );
}

/** Compiles to dist/ when a source has changed. @throws Error when the compiler finds errors */
export async function build() {
  if (!shippedWithSources() || built(fingerprint(sources()))) return;
  await withLock(async () => {
    const files = sources();
    const wanted = fingerprint(files);
    if (built(wanted)) return;
    console.error('Compiling …');
    const code = await run(process.execPath, [join('node_modules', 'typescript', 'bin', 'tsc'), '-p', 'tsconfig.json']);
    if (code !== 0) throw new Error('The TypeScript compiler found errors; see its output above.');
    removeOrphans(new Set(files));
    writeFileSync(BUILT_MARK, wanted);
  });
}

/** Whether this is the repository; packages and images have the compiled code only. */
export function shippedWithSources() {
  return existsSync(join(root, 'tsconfig.json'));
}

function lockHash(folder = root) {
  return createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
}

function markOf(folder) {
  return join(folder, 'node_modules', '.postback-lock');
}

function installed(folder) {
  const mark = markOf(folder);
  if (!existsSync(dirname(mark))) return false;
  if (existsSync(mark)) return readFileSync(mark, 'utf8') === lockHash(folder);
  if (!matchesInstalledTree(folder)) return false;
  writeFileSync(mark, lockHash(folder));
  return true;
}

// After a manual `npm install` or `npm ci` there is only npm's own record of the installed packages.
function matchesInstalledTree(folder) {
  const record = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const { '': _root, ...wanted } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const found = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) =>
    found[path] ? found[path].version === entry.version : Boolean(entry.optional || entry.devOptional || entry.peer),
  );
}

function sources() {
  const found = [join(root, 'tsconfig.json')];
  const visit = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      if (entry.name.startsWith('.') || NOT_SOURCE.has(entry.name)) continue;
      const path = join(folder, entry.name);
      if (entry.isDirectory()) visit(path);
      else if (entry.name.endsWith('.ts')) found.push(path);
    }
  };
  visit(root);
  return found.sort();
}

// Covers names, sizes and modification times, so that a removed file or an older checkout counts as a change.
function fingerprint(files) {
  const hash = createHash('sha256').update(lockHash());
  for (const file of files) {
    const { mtimeMs, size } = statSync(file);
    // A copy keeps the time in milliseconds.
    hash.update(`\n${relative(root, file)} ${Math.round(mtimeMs)} ${size}`);
  }
  return hash.digest('hex');
}

function built(wanted) {
  return existsSync(BUILT_MARK) && readFileSync(BUILT_MARK, 'utf8') === wanted;
}

// The compiler keeps the output of deleted sources, and a deleted test would still run.
function removeOrphans(files) {
  const dist = join(root, 'dist');
  for (const entry of readdirSync(dist, { recursive: true })) {
    if (!entry.endsWith('.js')) continue;
    if (files.has(join(root, entry.replace(/\.js$/, '.ts')))) continue;
    rmSync(join(dist, entry));
    rmSync(join(dist, `${entry}.map`), { force: true });
  }
}

// Two starts at the same time would write the same files. The lock is a directory: creating one is atomic.
export async function withLock(work, lockDir = LOCK_DIR) {
  mkdirSync(dirname(lockDir), { recursive: true });
  for (let waiting = false; ; ) {
    try {
      mkdirSync(lockDir);
      break;
    } catch (error) {
      if (error.code !== 'EEXIST') throw error;
    }
    if (isLockAbandoned(lockDir)) {
      rmSync(lockDir, { recursive: true, force: true });
      continue;
    }
    if (!waiting) console.error('Waiting for another start that is preparing this folder …');
    waiting = true;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  const unlock = () => rmSync(lockDir, { recursive: true, force: true });
  process.once('exit', unlock);
  try {
    writeFileSync(join(lockDir, 'pid'), String(process.pid));
    await work();
  } finally {
    unlock();
    process.off('exit', unlock);
  }
}

function isLockAbandoned(lockDir) {
  try {
    const holder = Number(readFileSync(join(lockDir, 'pid'), 'utf8'));
    if (!holder) return false;
    process.kill(holder, 0);
    return false;
  } catch (error) {
    if (error.code === 'ESRCH') return true;
    // No pid yet: the holder is about to write it, or has died before it could.
    return error.code === 'ENOENT' && existsSync(lockDir) && Date.now() - statSync(lockDir).mtimeMs > 5_000;
  }
}
