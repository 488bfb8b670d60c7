import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

interface Entry {
  version: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
}

/**
 * Optional packages for other platforms whose hashes the registry did not give when this list was written, by the
 * version they are locked at. An upgrade, or a hash, takes a package off the list; nothing may be added.
 */
const WITHOUT_INTEGRITY = [
  ...optional('@biomejs/cli-', '2.6.8', [
    ...['android-arm64', 'android-x64', 'darwin-arm64', 'darwin-x64'],
    ...['linux-arm64-musl', 'linux-x64-musl', 'win32-arm64', 'win32-x64'],
  ]),
  ...optional('@lancedb/lancedb-', '0.37.1', [
    ...['darwin-arm64', 'linux-arm64-gnu', 'linux-arm64-musl', 'win32-arm64-msvc', 'win32-x64-msvc'],
  ]),
  ...optional('@swc/core-', '1.16.22', [
    ...['darwin-arm64', 'darwin-x64', 'linux-arm-gnueabihf', 'linux-ppc64-gnu', 'linux-s390x-gnu'],
    ...['win32-arm64-msvc', 'win32-ia32-msvc', 'win32-x64-msvc'],
  ]),
  ...optional('@unrs/resolver-binding-', '1.13.0', [
    ...['android-arm-eabi', 'android-arm64', 'darwin-arm64', 'darwin-x64', 'freebsd-x64'],
    ...['linux-arm-gnueabihf', 'linux-arm-musleabihf', 'linux-loong64-gnu', 'linux-loong64-musl', 'linux-ppc64-gnu'],
    ...['linux-riscv64-gnu', 'linux-riscv64-musl', 'linux-s390x-gnu'],
    ...['openharmony-arm64', 'win32-arm64-msvc', 'win32-ia32-msvc', 'win32-x64-msvc'],
  ]),
];

describe('package-lock.json', () => {
  const { '': root, ...entries } = (
    JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Entry> }
  ).packages;

  /** The entries that `pick` is true for, as `path@version`. */
  function those(pick: (entry: Entry) => boolean): string[] {
    return Object.entries(entries)
      .filter(([, entry]) => pick(entry))
      .map(([path, { version }]) => `${path}@${version}`);
  }

  test('every package has its integrity', () => {
    expect(root).toBeDefined();
    const without = those(({ link, integrity }) => !link && !integrity?.startsWith('sha512-'));
    expect(without.sort()).toEqual(WITHOUT_INTEGRITY.sort());
  });

  test('no package names the host it comes from, so that a registry can be chosen', () => {
    expect(those(({ resolved }) => /^\w[\w+]*:\/\//.test(resolved ?? ''))).toEqual([]);
  });
});

function optional(prefix: string, version: string, platforms: string[]): string[] {
  return platforms.map((platform) => `node_modules/${prefix}${platform}@${version}`);
}
