import { mkdir, statfs } from 'node:fs/promises';

/** A machine, as Node.js describes it. */
export interface Machine {
  platform: string;
  arch: string;
  /** The version of glibc; undefined with another C library. */
  glibc?: string | undefined;
}

/** What the native packages have binaries for: the embedding model needs glibc, LanceDB has nothing for Macs with Intel. */
const SUPPORTED = ['linux-x64', 'linux-arm64', 'darwin-arm64'];
const GLIBC = [2, 28];
/** MongoDB reserves 300 MB for its journal, and stops when the disk is full. */
const NEEDED_BYTES = 512 * 1024 ** 2;

export function thisMachine(): Machine {
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  return { platform: process.platform, arch: process.arch, glibc: header.glibcVersionRuntime };
}

/** Why Postback cannot run on a machine, and what to do; undefined when it can. */
export function platformProblem({ platform, arch, glibc }: Machine): { detail: string; advice: string } | undefined {
  const name = `${platform}-${arch}`;
  if (platform === 'win32') return { detail: name, advice: 'Install it in WSL 2: https://aka.ms/wsl' };
  if (name === 'darwin-x64') {
    const advice = 'LanceDB has no binary for Macs with Intel: use Docker (docker-compose.yml) or a Linux machine.';
    return { detail: name, advice };
  }
  if (!SUPPORTED.includes(name)) return { detail: name, advice: 'Use Linux (x64, arm64) or macOS with Apple silicon.' };
  if (platform !== 'linux') return undefined;
  if (glibc === undefined) {
    const advice = 'The embedding model needs glibc: use a Debian-based system or image, such as node:24-slim.';
    return { detail: `${name} with musl`, advice };
  }
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  if (major > GLIBC[0]! || (major === GLIBC[0] && minor >= GLIBC[1]!)) return undefined;
  const advice = `The native packages need glibc ${GLIBC.join('.')}: use a system of 2019 or newer, or Docker.`;
  return { detail: `${name} with glibc ${glibc}`, advice };
}

/** @throws Error that says what to do, on a machine that Postback has no binaries for */
export function requirePlatform(): void {
  const problem = platformProblem(thisMachine());
  if (problem) throw new Error(`Postback does not run on ${problem.detail}. ${problem.advice}`);
}

/** @throws Error that says what to do, when a folder cannot be written or its disk is nearly full */
export async function requireDisk(folder: string, setting: string, neededBytes = NEEDED_BYTES): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(
      `${folder} cannot be created (${code}). Change the owner of its folder, or set ${setting} to another one.`,
    );
  }
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= neededBytes) return;
  const mebibytes = (bytes: number) => `${Math.floor(bytes / 1024 ** 2)} MiB`;
  throw new Error(
    `Only ${mebibytes(free)} are free at ${folder}; Postback needs ${mebibytes(neededBytes)}. Free some, or set ${setting} to a folder on another disk.`,
  );
}
