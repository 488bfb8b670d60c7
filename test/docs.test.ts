import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { makeKey, sharedProduct } from './support/product.js';

describe('/docs', () => {
  const { apiUrl, mongodbUri } = sharedProduct();

  test('the first page needs no key, and its links work', async () => {
    const page = await get('/');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const links = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]!);
    expect(links).toContain('/docs');
    for (const link of links) expect([link, (await get(link)).status]).toEqual([link, 200]);
    expect((await fetch(apiUrl, { method: 'POST' })).status).toBe(405);
    expect((await get('/nothing')).status).toBe(404);
  });

  async function get(path: string) {
    const response = await fetch(apiUrl + path);
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  test('is a page that needs no key and sends no request to another host', async () => {
    const page = await get('/docs');
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const policy = page.headers.get('content-security-policy')!;
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const assets = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map((match) => match[1]!);
    expect(assets.length).toBeGreaterThan(4);
    for (const asset of assets) expect([asset, (await get(asset)).status]).toEqual([asset, 200]);
    const script = (await get('/docs/page.js')).text;
    expect(script).toContain("url: '/openapi.json'");
    expect(script).toContain('validatorUrl: null');
  });

  test('opens with a call that works as it is printed', async () => {
    const { text } = await get('/docs');
    const printed = /<pre[^>]*>([\s\S]*?)<\/pre>/.exec(text)![1]!.replace(/<[^<>]+>/g, '');
    const [variables, ...call] = printed.split('\n');
    expect(variables).toMatch(/^eval "\$\(\.\/postback env\)"/);
    const { key } = await makeKey(mongodbUri, 'docs-first-call', 'api');
    const env = { ...process.env, POSTBACK_URL: apiUrl, POSTBACK_KEY: key };
    const { stdout } = await promisify(execFile)('bash', ['-c', call.join('\n')], { env });
    expect(JSON.parse(stdout)).toMatchObject({ job_id: expect.any(String), status: 'queued' });
  });

  test('the code of guides can be copied', async () => {
    const { text } = await get('/docs/guides/quick-start');
    expect(text).toContain('<script src="/docs/copy.js" defer>');
    expect((await get('/docs/copy.js')).text).toContain('clipboard');
  });

  test('serves the files of the page with their types, and no other file of the package', async () => {
    for (const [path, type] of [
      ['/docs/swagger-ui-bundle.js', 'text/javascript; charset=utf-8'],
      ['/docs/swagger-ui.css', 'text/css; charset=utf-8'],
      ['/docs/page.css', 'text/css; charset=utf-8'],
      ['/docs/favicon-32x32.png', 'image/png'],
    ] as const) {
      const { headers } = await get(path);
      expect([path, headers.get('content-type')]).toEqual([path, type]);
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    for (const path of ['/docs/index.html', '/docs/package.json', '/docs/..%2f..%2fpackage.json', '/docs/other']) {
      const { status, text } = await get(path);
      expect([path, status, JSON.parse(text).error.code]).toEqual([path, 404, 'NOT_FOUND']);
    }
  });
});
