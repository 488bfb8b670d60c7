import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { sharedProduct } from './support/product.js';

const { apiUrl } = sharedProduct();

describe('the files of the console', () => {
  test('print commands about files that a clone has', () => {
    const sources = readdirSync('console', { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.js'),
    );
    const commands = sources.flatMap((name) =>
      [
        ...readFileSync(join('console', name), 'utf8').matchAll(/\.\/postback (?:ingest|jobs run \S+) ([^-\s]\S*)/g),
      ].map(([, file]) => ({ name, file: file! })),
    );
    expect(commands.length).toBeGreaterThan(2);
    expect(commands.filter(({ file }) => !existsSync(file))).toEqual([]);
  });

  test('need no key, run no foreign code, and are sent once', async () => {
    const page = await fetch(`${apiUrl}/console`);
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'self' 'sha256-[\w+/=]{44}';/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);

    const file = await fetch(`${apiUrl}/console/main.js`);
    expect(file.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    const again = await fetch(`${apiUrl}/console/main.js`, {
      headers: { 'If-None-Match': file.headers.get('etag')!, 'Cache-Control': 'max-age=0' },
    });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  test.each([
    '/console/nothing.js',
    '/console/tsconfig.json',
    '/console/../package.json',
    '/console/..%2fpackage.json',
    '/console/%2e%2e/package.json',
    '/console/pages/..%2f..%2f..%2fpackage.json',
    '/console/vendor/preact/package.json',
    '/console/vendor/koa/lib/application.js',
  ])('%s is not served', async (path) => expect((await fetch(apiUrl + path)).status).toBe(404));

  test('have the types that the API document and the packages give', async () => {
    const tsc = 'node_modules/typescript/bin/tsc';
    const checked = await promisify(execFile)(process.execPath, [tsc, '-p', 'console/tsconfig.json']).catch(
      (error) => error,
    );
    expect(checked.stdout).toBe('');
  });
});
