import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from '@jest/globals';

interface Package {
  version: string;
  license?: string;
  link?: boolean;
  dev?: boolean;
  devOptional?: boolean;
  hasInstallScript?: boolean;
}
interface Manifest {
  allowScripts: Record<string, boolean>;
  overrides: Record<string, Record<string, string>>;
}

const { licenseOf, notices } = (await import(pathToFileURL('bin/notices.mjs').href)) as {
  licenseOf(packages: Record<string, Package>, path: string): string;
  notices(): string;
};
const readJson = <T>(path: string) => JSON.parse(readFileSync(path, 'utf8')) as T;
function packagesIn(lockFile: string): Record<string, Package> {
  const { '': _root, ...packages } = readJson<{ packages: Record<string, Package> }>(lockFile).packages;
  return packages;
}
const packages = packagesIn('package-lock.json');

/** SPDX identifiers of licences that ask for no more than attribution. */
const PERMISSIVE = new Set([
  ...[
    'MIT',
    'ISC',
    'Apache-2.0',
    'BSD-2-Clause',
    'BSD-3-Clause',
    '0BSD',
    'MIT-0',
    'BlueOak-1.0.0',
    'Python-2.0',
    'Unlicense',
    'CC0-1.0',
  ],
  // Data about browsers, for build tools.
  'CC-BY-4.0',
]);
/** Shared libraries that are loaded, not linked: users can replace them. */
const LOADED_LIBRARIES = /^@img\/sharp-(libvips|wasm32|win32)/;
/** Tools of the tests that are neither changed nor part of what is distributed, with their licence. */
const TEST_TOOLS: Record<string, string> = { 'axe-core': 'MPL-2.0' };
/** Whether an SPDX expression allows use under permissive licences alone. */
function isPermissive(expression: string, allowed: ReadonlySet<string> = PERMISSIVE): boolean {
  const plain = expression.replace(/[()]/g, '');
  if (/ AND .* OR | OR .* AND /.test(plain)) throw new Error(`a licence that needs a reader: ${expression}`);
  if (plain.includes(' OR ')) return plain.split(' OR ').some((each) => allowed.has(each));
  return plain.split(' AND ').every((each) => allowed.has(each));
}

describe('the packages', () => {
  test.each([
    ['package-lock.json', 500],
    ['bench/package-lock.json', 2],
  ])('in %s have permissive licences', (lockFile, more) => {
    const packages = packagesIn(lockFile);
    const withLibraries = new Set([...PERMISSIVE, 'LGPL-3.0-or-later']);
    const rejected = Object.entries(packages).flatMap(([path, { link, dev }]) => {
      const name = path.split('node_modules/').at(-1)!;
      const allowed = LOADED_LIBRARIES.test(name) ? withLibraries : PERMISSIVE;
      if (dev && TEST_TOOLS[name] === licenseOf(packages, path)) return [];
      return link || isPermissive(licenseOf(packages, path), allowed) ? [] : [`${path}: ${licenseOf(packages, path)}`];
    });
    expect(rejected).toEqual([]);
    expect(Object.keys(packages).length).toBeGreaterThan(more);
  });

  test.each([
    ['MIT', true],
    ['(MIT OR GPL-3.0-only)', true],
    ['Apache-2.0 AND MIT', true],
    ['GPL-3.0-only', false],
    ['MIT AND GPL-3.0-only', false],
    ['LGPL-3.0-or-later', false],
    ['SEE LICENSE IN LICENSE', false],
    ['unknown', false],
  ])('a package under %s is accepted: %s', (expression, accepted) => expect(isPermissive(expression)).toBe(accepted));

  test('are listed in THIRD-PARTY-NOTICES.md; otherwise run `npm run notices`', () => {
    expect(readFileSync('THIRD-PARTY-NOTICES.md', 'utf8')).toBe(notices());
    expect(notices()).toMatch(/\| koa \| [\d.]+ \| MIT \| Copyright/);
    expect(notices()).not.toContain('| jest |');
  });

  test('that the product imports are installed with it, without development packages', () => {
    // Benchmarks that draw pages, and tests, run in the repository only.
    const files = readdirSync('dist', { recursive: true, encoding: 'utf8' }).filter((file) => {
      return file.endsWith('.js') && !/^(test|bench)\/|^workflow-bundle/.test(file);
    });
    const imported = files.flatMap((file) => {
      const code = readFileSync(join('dist', file), 'utf8');
      const names = code.matchAll(
        /^import (?:[^'"]+ from )?'((?:@[\w.-]+\/)?[a-z][\w.-]*)|import\('((?:@[\w.-]+\/)?[a-z][\w.-]*)/gm,
      );
      return [...names].map(([, name, dynamic]) => `${file}: ${name ?? dynamic}`);
    });
    const isMissing = (name: string) => packages[`node_modules/${name}`]?.dev !== undefined;
    expect(imported.filter((each) => isMissing(each.split(': ')[1]!))).toEqual([]);
    expect(imported.length).toBeGreaterThan(100);
  });

  test('run no scripts when they are installed', () => {
    const { allowScripts } = readJson<Manifest>('package.json');
    const names = Object.entries(packages).flatMap(([path, { hasInstallScript }]) =>
      hasInstallScript ? [path.split('node_modules/').at(-1)!] : [],
    );
    expect(allowScripts).toEqual(Object.fromEntries(names.map((name) => [name, false])));
    expect(readFileSync('bin/prepare.mjs', 'utf8')).toMatch(/'npm', \['ci', .*'--ignore-scripts'/);
  });

  test('are overridden only for reasons that docs/dependencies.md gives', () => {
    const { overrides } = readJson<Manifest>('package.json');
    const listed = [...readFileSync('docs/dependencies.md', 'utf8').matchAll(/^\| `([^`]+)` > `([^`]+)` +\|/gm)];
    expect(listed.map(([, owner, name]) => `${owner} > ${name}`).sort()).toEqual(
      Object.entries(overrides)
        .flatMap(([owner, replaced]) => Object.keys(replaced).map((name) => `${owner} > ${name}`))
        .sort(),
    );
  });
});

test('those of the product take at most 570 MiB without the files that bin/prune.mjs removes', async () => {
  const { sizesIn } = (await import(pathToFileURL('bin/sizes.mjs').href)) as {
    sizesIn(folder: string): { packages: number; product: number };
  };
  const { packages: count, product } = sizesIn('.');
  expect(product).toBeLessThan(570);
  expect(count).toBeGreaterThan(300);
});

describe('the audit of known vulnerabilities', () => {
  /** Runs the audit with a registry that responds like this. */
  async function audit(respond: RequestListener) {
    const registry = createServer(respond).listen(0, '127.0.0.1');
    await once(registry, 'listening');
    const url = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
    // npm stores what it learns about an advisory.
    const cache = mkdtempSync(join(tmpdir(), 'postback-npm-'));
    const env = { ...process.env, npm_config_registry: url, npm_config_cache: cache, npm_config_loglevel: 'error' };
    try {
      return await new Promise<{ code: number; text: string }>((resolve) => {
        execFile(process.execPath, ['bin/audit.mjs'], { env }, (error, _out, text) =>
          resolve({ code: error ? Number(error.code) : 0, text }),
        );
      });
    } finally {
      registry.closeAllConnections();
      registry.close();
      rmSync(cache, { recursive: true, force: true });
    }
  }
  const { version } = packages['node_modules/koa']!;
  const advisory = (severity: string) => ({
    koa: [{ id: 1, url: 'https://example.com/1', title: 'a flaw', severity, vulnerable_versions: `<=${version}` }],
  });
  /** What a registry says about a package: its versions in the lock file. */
  const packumentOf = (name: string) => {
    const locked = Object.entries(packages).filter(([path]) => path.endsWith(`node_modules/${name}`));
    const versions = locked.map(([, entry]) => [entry.version, { name, version: entry.version }]);
    return { name, versions: Object.fromEntries(versions) };
  };
  const respondWith =
    (advisories: object): RequestListener =>
    (request, response) => {
      response.setHeader('content-type', 'application/json');
      if (request.url?.includes('/advisories/bulk')) response.end(JSON.stringify(advisories));
      else response.end(JSON.stringify(packumentOf(decodeURIComponent(request.url!.slice(1)))));
    };

  test('fails for a high or critical vulnerability, and names the package', async () => {
    expect(await audit(respondWith(advisory('critical')))).toEqual({
      code: 1,
      text: expect.stringMatching(/critical: koa .*\n[\s\S]*[1-9] of them high or critical/),
    });
  });

  test('reports a lesser one, and passes', async () => {
    expect(await audit(respondWith(advisory('low')))).toEqual({
      code: 0,
      text: expect.stringMatching(/low: koa .*\n[\s\S]*packages, 0 of them high or critical/),
    });
    expect(await audit(respondWith({}))).toEqual({ code: 0, text: expect.stringContaining('0 vulnerable packages') });
  });

  test('says that it was skipped when the registry has no such endpoint', async () => {
    const noEndpoint: RequestListener = (_request, response) => response.writeHead(405).end();
    expect(await audit(noEndpoint)).toEqual({
      code: 0,
      text: expect.stringMatching(/^dependency audit skipped: .*405/),
    });
  });
});
