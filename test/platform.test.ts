import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { platformProblem, requireDisk, thisMachine } from '../cli/platform.js';

const folder = mkdtempSync(join(tmpdir(), 'postback-platform-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('a machine that Postback does not run on is told what to do', () => {
  test.each([
    [{ platform: 'linux', arch: 'x64', glibc: undefined }, /musl.*node:24-slim/],
    [{ platform: 'linux', arch: 'x64', glibc: '2.17' }, /glibc 2\.17.*glibc 2\.28/],
    [{ platform: 'linux', arch: 'ia32', glibc: '2.36' }, /linux-ia32.*x64, arm64/],
    [{ platform: 'darwin', arch: 'x64' }, /darwin-x64.*Docker/],
    [{ platform: 'win32', arch: 'x64' }, /win32-x64.*WSL 2/],
  ])('%o', (machine, expected) => {
    const { detail, advice } = platformProblem(machine)!;
    expect(`${detail} ${advice}`).toMatch(expected);
  });

  test.each([
    [{ platform: 'linux', arch: 'x64', glibc: '2.28' }],
    [{ platform: 'linux', arch: 'arm64', glibc: '2.36' }],
    [{ platform: 'darwin', arch: 'arm64' }],
    [thisMachine()],
  ])('%o is supported', (machine) => expect(platformProblem(machine)).toBeUndefined());
});

test('a full disk, and a folder that cannot be created, are named with the setting that moves the data', async () => {
  await requireDisk(join(folder, 'data'), 'POSTBACK_DATA_DIR', 1);
  await expect(requireDisk(join(folder, 'data'), 'POSTBACK_DATA_DIR', Number.MAX_SAFE_INTEGER)).rejects.toThrow(
    /^Only \d+ MiB are free at .*data; .*POSTBACK_DATA_DIR/,
  );
  writeFileSync(join(folder, 'file'), '');
  await expect(requireDisk(join(folder, 'file', 'data'), 'POSTBACK_DATA_DIR')).rejects.toThrow(
    /cannot be created \(ENOTDIR\).*POSTBACK_DATA_DIR/,
  );
});

test('a failed installation of packages is explained', () => {
  // A copy of the repository's commands whose npm cannot reach a registry.
  const copy = join(folder, 'copy');
  mkdirSync(join(copy, 'fake'), { recursive: true });
  for (const file of ['bin', 'package.json', 'package-lock.json', 'tsconfig.json']) {
    execFileSync('cp', ['-r', resolve(file), copy]);
  }
  writeFileSync(join(copy, 'fake', 'npm'), '#!/bin/sh\necho "npm error code ENOTFOUND" >&2\nexit 1\n');
  chmodSync(join(copy, 'fake', 'npm'), 0o755);
  const env = { ...process.env, PATH: `${join(copy, 'fake')}:${process.env.PATH}` };
  const started = () =>
    execFileSync(process.execPath, ['bin/postback.mjs', 'start'], { cwd: copy, env, stdio: 'pipe' });
  expect(started).toThrow(/npm ci failed[\s\S]*registry/);
});
