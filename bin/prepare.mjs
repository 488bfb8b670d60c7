// Prepares the repository for a command: installs the packages and compiles the TypeScript sources.
// Plain JavaScript without dependencies, because it runs before any are installed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { compile, isCompiled, root } from './compile.mjs';
import { prune } from './prune.mjs';

export { root };

const LOCK_DIR = join(root, '.postback', 'prepare.lock');
/** Signals that are passed on to the running command, which would otherwise outlive this process. */
const FORWARDED_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
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
 * Installs the packages, when they are missing or the lock file has changed, compiles the sources that have changed, and links
 * the command. Does nothing without TypeScript sources (in a production image).
 * @param tools whether the tools of development are needed too, such as compilers and test runners
 * @throws Error when npm fails, or a source cannot be compiled
 */
export async function prepare({ tools }) {
  if (!shippedWithSources()) return;
  // npm never packs a lock file; bin/pack.mjs adds it under another name.
  if (!existsSync(join(root, 'package-lock.json'))) {
    throw new Error(
      'This package was made by npm pack without its scripts, which add the compiled code and the lock file.' +
        ' Make it again with: npm run pack',
    );
  }
  linkCommand();
  if (hasPackages(root, tools) && isCompiled()) return;
  await withLock(async () => {
    const installing = install(root, tools, 'Installing packages with npm ci. The first time takes half a minute …');
    // While npm works.
    compile();
    await installing;
  });
}

/** Makes `./postback`, which guides use: `npx postback` outside of this folder asks the registry for a package of that name. */
function linkCommand() {
  try {
    symlinkSync(join('bin', 'postback.mjs'), join(root, 'postback'));
  } catch {
    // It exists, or this folder cannot be written. `node bin/postback.mjs` works too.
  }
}

/** Installs the packages that only benchmarks use, when they are missing or their lock file has changed. @throws Error when npm fails */
export async function installBench() {
  if (hasPackages(BENCH, true)) return;
  await withLock(() => install(BENCH, true, 'Installing the packages of bench/ with npm ci …'));
}

async function install(folder, tools, message) {
  if (hasPackages(folder, tools)) return;
  console.error(message);
  await npmCi(folder, tools ? '--include=dev' : '--omit=dev');
  prune(join(folder, 'node_modules'));
  writeFileSync(markOf(folder), markFor(folder, tools));
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

/** Whether this is the repository; packages and images have the compiled code only. */
export function shippedWithSources() {
  return existsSync(join(root, 'tsconfig.json'));
}

/** What the mark of a folder says that has the packages of its lock file. */
function markFor(folder, tools) {
  const hash = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  return tools ? `${hash} with tools` : hash;
}

function markOf(folder) {
  return join(folder, 'node_modules', '.postback-lock');
}

function hasPackages(folder, tools) {
  const mark = markOf(folder);
  if (!existsSync(dirname(mark))) return false;
  const enough = tools ? [markFor(folder, true)] : [markFor(folder, true), markFor(folder, false)];
  if (existsSync(mark)) return enough.includes(readFileSync(mark, 'utf8'));
  if (!matchesInstalledTree(folder, tools)) return false;
  writeFileSync(mark, markFor(folder, tools));
  return true;
}

// After a manual `npm install` or `npm ci` there is only npm's own record of the installed packages.
function matchesInstalledTree(folder, tools) {
  const record = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(record)) return false;
  const { '': _root, ...wanted } = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const found = JSON.parse(readFileSync(record, 'utf8')).packages;
  return Object.entries(wanted).every(([path, entry]) => {
    if (found[path]) return found[path].version === entry.version;
    return Boolean(entry.optional || entry.devOptional || entry.peer || (entry.dev && !tools));
  });
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
