import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';

interface Entry {
  version: string;
  integrity?: string;
  resolved?: string;
  link?: boolean;
}

/**
 * Optional packages for other platforms for which the registry returned no hash when this list was written, with their
 * locked versions. Remove a package when it is upgraded or gets a hash; add none.
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

describe.each([
  ['package-lock.json', WITHOUT_INTEGRITY],
  ['bench/package-lock.json', []],
])('%s', (file, withoutIntegrity) => {
  const { '': root, ...entries } = (JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Entry> })
    .packages;

  /** Returns the entries for which `pick` is true, as `path@version`. */
  function entriesWhere(pick: (entry: Entry) => boolean): string[] {
    return Object.entries(entries)
      .filter(([, entry]) => pick(entry))
      .map(([path, { version }]) => `${path}@${version}`);
  }

  test('every package has an integrity hash', () => {
    expect(root).toBeDefined();
    const without = entriesWhere(({ link, integrity }) => !link && !integrity?.startsWith('sha512-'));
    expect(without.sort()).toEqual([...withoutIntegrity].sort());
  });

  test('no package names its host, so that any registry can be used', () => {
    expect(entriesWhere(({ resolved }) => /^\w[\w+]*:\/\//.test(resolved ?? ''))).toEqual([]);
  });
});

function optional(prefix: string, version: string, platforms: string[]): string[] {
  return platforms.map((platform) => `node_modules/${prefix}${platform}@${version}`);
}
