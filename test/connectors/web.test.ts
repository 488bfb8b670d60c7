import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { connectorsOf } from '../support/connectors.js';
import { clientDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { registeredReceiver } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';
import { html, type Site, startSite } from '../support/site.js';

describe('a web connector', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'connectors-web';
  const database = 'site';
  const sites: Site[] = [];
  const api = clientDuringTests(org);
  const connectors = connectorsOf(api, mongodbUri);
  beforeAll(() => api.createDatabase(database));
  afterAll(() => Promise.all(sites.map((site) => site.close())));

  async function siteOf(pages: Parameters<typeof startSite>[0]): Promise<Site> {
    const site = await startSite(pages);
    sites.push(site);
    return site;
  }
  const counts = (some: object) => ({ new: 0, changed: 0, unchanged: 0, removed: 0, failed: 0, ...some });
  const sitemap = (site: Site, paths: string[]) =>
    `<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">${paths
      .map((path) => `<url><loc>${site.url}${path}</loc></url>`)
      .join('')}</urlset>`;
  const found = async (query: string, item: string) => {
    const { data } = (await api.post('/query', { database, query, ids: [item] })).body;
    return data.chunks as { source_id: string; text: string; title: string }[];
  };

  test('ingests the pages of a sitemap, then makes conditional requests only, and removes pages that no longer exist', async () => {
    const site = await siteOf({
      '/robots.txt': { body: 'User-agent: *\nDisallow: /private/', type: 'text/plain' },
      '/a': html('Lamps', 'The lamp of Thrimsay burns whale oil.'),
      '/b': html('Fog', 'The fog horn sounds every minute.'),
      '/c': html('Boats', 'The supply boat Marigold comes on Tuesday.'),
      '/private/d': html('Private', 'Nobody may read the keeper diary.'),
    });
    site.pages.set('/sitemap.xml', { body: sitemap(site, ['/a', '/b', '/c', '/private/d']), type: 'application/xml' });
    const receiver = await registeredReceiver(api);
    const id = await connectors.create({ kind: 'web', database, settings: { sitemap: `${site.url}/sitemap.xml` } });

    const first = await connectors.sync(id);
    expect(first.last_sync).toMatchObject({ status: 'completed', counts: counts({ new: 3, failed: 1 }) });
    expect(first.errors).toMatchObject([{ resource: `${site.url}/private/d`, error_code: 'ROBOTS_DISALLOWED' }]);
    expect(site.requests.filter((request) => request.includes('private'))).toEqual([]);
    const item = (path: string) => connectors.itemOf(id, `${site.url}${path}`);
    for (const path of ['/a', '/b', '/c']) {
      expect(await api.ended(database, item(path))).toMatchObject({ indexing_status: 'completed' });
      await receiver.waitFor('the webhook', ({ json }) => json.id === item(path) && json.status === 'completed');
    }
    await receiver.close();
    await api.del('/webhooks/indexing');
    expect((await found('whale oil', item('/a')))[0]).toMatchObject({ title: 'Lamps', source_id: item('/a') });
    const record = await withDb(mongodbUri, (db) => db.collection('items').findOne({ id: item('/a') }));
    expect(record!.additional_metadata).toEqual({ source: `${site.url}/a`, connector_id: id });

    site.requests.length = 0;
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 3, failed: 1 }) });
    expect([...site.requests].sort()).toEqual(['200 /robots.txt', '200 /sitemap.xml', '304 /a', '304 /b', '304 /c']);

    site.pages.set('/a', { body: html('Lamps', 'The lamp of Thrimsay is electric now.') });
    site.pages.delete('/b');
    site.pages.set('/sitemap.xml', { body: sitemap(site, ['/a', '/b']), type: 'application/xml' });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ changed: 1, removed: 3 - 1 }) });
    expect(await api.ended(database, item('/a'))).toMatchObject({ indexing_status: 'completed' });
    expect((await found('lamp', item('/a'))).map(({ text }) => text).join()).toContain('electric');
    for (const path of ['/b', '/c']) {
      await connectors.cleared(item(path));
      expect(await found('fog horn supply boat', item(path))).toEqual([]);
    }

    // A page that returns is a new version of the removed item, whose workflow must run.
    site.pages.set('/b', { body: html('Fog', 'The fog horn is back and louder.') });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ new: 1, unchanged: 1 }) });
    expect(await api.ended(database, item('/b'))).toMatchObject({ indexing_status: 'completed' });
    expect(await found('fog horn', item('/b'))).toHaveLength(1);
  });

  test('a page that fails does not stop the others, keeps its item, and is reported with a reason', async () => {
    const site = await siteOf({
      '/well': html('Well', 'This page is well.'),
      '/ill': html('Ill', 'This page will be ill.'),
      '/movie': { body: Buffer.from('000000186674797069736f6d0000020069736f6d69736f32', 'hex'), type: 'video/mp4' },
    });
    const urls = ['/well', '/ill', '/movie', '/never'].map((path) => site.url + path);
    const id = await connectors.create({ kind: 'web', database, settings: { urls } });
    expect((await connectors.sync(id)).last_sync).toMatchObject({
      status: 'completed',
      counts: counts({ new: 2, failed: 2 }),
    });
    const ill = connectors.itemOf(id, `${site.url}/ill`);
    await api.ended(database, ill);

    site.pages.set('/ill', { body: 'broken', status: 500 });
    site.requests.length = 0;
    const second = await connectors.sync(id);
    expect(second.last_sync).toMatchObject({ status: 'completed', counts: counts({ unchanged: 1, failed: 3 }) });
    // The video is not downloaded again, because it has not changed.
    expect(site.requests).toContain('304 /movie');
    const reasons = Object.fromEntries(second.errors.map((error) => [error.resource.slice(site.url.length), error]));
    expect(reasons).toMatchObject({
      '/ill': { error_code: 'HTTP_STATUS', error_message: 'The server responded with status 500.', item_id: ill },
      '/movie': { error_code: 'E1002', item_id: null },
      '/never': { error_code: 'NOT_FOUND' },
    });
    expect(await connectors.traces(ill)).toMatchObject({ items: 1 });
    const page = (await api.get(`/connectors/${id}/status?limit=2`)).body as unknown as typeof second;
    const rest = (await api.get(`/connectors/${id}/status?limit=2&cursor=${page.next_cursor}`))
      .body as unknown as typeof second;
    expect([...page.errors, ...rest.errors].map((error) => error.resource).sort()).toEqual(urls.slice(1).sort());

    site.pages.set('/ill', { body: html('Ill', 'This page will be ill.') });
    expect((await connectors.sync(id)).errors.map((error) => error.resource)).not.toContain(`${site.url}/ill`);
  });

  test('reads a sitemap index with gzipped sitemaps, and ignores other sites', async () => {
    const site = await siteOf({ '/one': html('One', 'The first page.'), '/two': html('Two', 'The second page.') });
    const entry = (name: string) => `<sitemap><loc>${site.url}/${name}</loc></sitemap>`;
    site.pages.set('/index.xml', { body: `<sitemapindex>${entry('1.xml.gz')}${entry('2.xml')}</sitemapindex>` });
    site.pages.set('/1.xml.gz', { body: gzipSync(sitemap(site, ['/one'])), type: 'application/gzip' });
    site.pages.set('/2.xml', {
      body: `<urlset><url><loc>${site.url}/two</loc></url><url><loc>https://example.org/x</loc></url></urlset>`,
    });
    const id = await connectors.create({ kind: 'web', database, settings: { sitemap: `${site.url}/index.xml` } });
    expect(await connectors.sync(id)).toMatchObject({ last_sync: { counts: counts({ new: 2 }) }, errors: [] });
  });

  test('a listing that continues after 20,000 steps fails the sync', async () => {
    const site = await siteOf({ '/page': html('Page', 'A page.') });
    site.pages.set('/index.xml', {
      body: `<sitemapindex><sitemap><loc>${site.url}/1.xml</loc></sitemap></sitemapindex>`,
    });
    site.pages.set('/1.xml', { body: sitemap(site, ['/page']) });
    const id = await connectors.create({ kind: 'web', database, settings: { sitemap: `${site.url}/index.xml` } });
    // The steps are counted in the record, so the sync need not make them.
    site.hold = async (path) => {
      if (path !== '/index.xml') return;
      await withDb(mongodbUri, (db) =>
        db.collection<{ _id: string }>('connectors').updateOne({ _id: id }, { $set: { 'sync.steps': 20_000 } }),
      );
    };
    expect((await connectors.sync(id)).last_sync).toMatchObject({
      status: 'failed',
      error_code: 'TOO_LARGE',
      error_message: 'The listing has too many pages.',
    });
    expect(site.requests).toEqual(['200 /index.xml']);
  });

  test('a sitemap that cannot be read fails the sync and removes nothing', async () => {
    const site = await siteOf({ '/kept': html('Kept', 'The page is kept.') });
    site.pages.set('/sitemap.xml', { body: sitemap(site, ['/kept']) });
    const id = await connectors.create({ kind: 'web', database, settings: { sitemap: `${site.url}/sitemap.xml` } });
    await connectors.sync(id);
    site.pages.set('/sitemap.xml', { body: 'Not a sitemap.' });
    expect((await connectors.sync(id)).last_sync).toMatchObject({
      status: 'failed',
      error_code: 'INVALID_LISTING',
      error_message: 'This is not a valid sitemap.',
      counts: counts({}),
    });
    expect(await connectors.traces(connectors.itemOf(id, `${site.url}/kept`))).toMatchObject({ items: 1 });
  });

  test('follows links on the same site up to the maximum depth, also from unchanged pages', async () => {
    const site = await siteOf({
      '/': html('Start', 'Start here.', ['/near#part', '/near', 'https://example.org/', 'mailto:a@example.org']),
      '/near': html('Near', 'One link away.', ['far', '/']),
      '/far': html('Far', 'Two links away.', ['/too-far']),
      '/too-far': html('Too far', 'Three links away.'),
    });
    const settings = { urls: [`${site.url}/`], follow_links: true, max_depth: 2 };
    const id = await connectors.create({ kind: 'web', database, settings });
    expect(await connectors.sync(id)).toMatchObject({
      last_sync: { counts: counts({ new: 3 }), truncated: false },
      errors: [],
    });
    expect(site.requests.filter((request) => request.includes('too-far'))).toEqual([]);
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 3 }) });

    // Pages beyond the limit are not treated as removed.
    await api.request('PATCH', `/connectors/${id}`, { json: { settings: { ...settings, max_pages: 2 } } });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 2 }), truncated: true });
    expect(await connectors.traces(connectors.itemOf(id, `${site.url}/far`))).toMatchObject({ items: 1 });
  });

  test('finds the links of unchanged pages when it begins to follow links', async () => {
    const site = await siteOf({
      '/': html('Start', 'Start here.', ['/near']),
      '/near': html('Near', 'One link away.'),
      '/notes.txt': { body: 'Notes without links.', type: 'text/plain' },
    });
    const settings = { urls: [`${site.url}/`, `${site.url}/notes.txt`] };
    const id = await connectors.create({ kind: 'web', database, settings });
    await connectors.sync(id);
    await api.request('PATCH', `/connectors/${id}`, { json: { settings: { ...settings, follow_links: true } } });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ new: 1, unchanged: 2 }) });

    // The links are known now, so requests are conditional again.
    site.requests.length = 0;
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 3 }) });
    const requests = site.requests.filter((request) => !request.endsWith('/robots.txt'));
    expect(requests.sort()).toEqual(['304 /', '304 /near', '304 /notes.txt']);
  });

  test('follows a redirect on the same site only, and respects the charset of the header', async () => {
    const site = await siteOf({
      '/moved': { body: '', status: 301, headers: { Location: '/here' } },
      '/here': {
        body: Buffer.from('<title>Caf\xe9</title><p>Cr\xe8me br\xfbl\xe9e on the quay', 'latin1'),
        type: 'text/html; charset=iso-8859-1',
      },
      '/away': { body: '', status: 302, headers: { Location: 'https://10.0.0.1/' } },
      '/circle': { body: '', status: 302, headers: { Location: '/circle' } },
    });
    const urls = ['/moved', '/away', '/circle'].map((path) => site.url + path);
    const id = await connectors.create({ kind: 'web', database, settings: { urls } });
    const synced = await connectors.sync(id);
    expect(synced.last_sync).toMatchObject({ counts: counts({ new: 1, failed: 2 }) });
    expect(synced.errors.map((error) => error.error_code)).toEqual(['REDIRECTED', 'REDIRECTED']);
    const moved = connectors.itemOf(id, `${site.url}/moved`);
    await api.ended(database, moved);
    expect((await found('Crème brûlée', moved))[0]).toMatchObject({ title: 'Café' });
  });

  test('sends no request to a site without a readable robots.txt, or to a blocked address', async () => {
    const site = await siteOf({ '/page': html('Page', 'A page.'), '/robots.txt': { body: '', status: 503 } });
    const id = await connectors.create({ kind: 'web', database, settings: { urls: [`${site.url}/page`] } });
    expect((await connectors.sync(id)).errors).toMatchObject([{ error_code: 'ROBOTS_UNAVAILABLE' }]);
    expect(site.requests.every((request) => request === '503 /robots.txt')).toBe(true);

    for (const url of ['https://10.0.0.1/', 'https://[::ffff:169.254.169.254]/', 'http://1.1.1.1/']) {
      for (const settings of [{ urls: [url] }, { sitemap: url }]) {
        const rejected = await api.post('/connectors', { kind: 'web', database, settings });
        expect([rejected.status, rejected.body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
      }
    }
    // A name may resolve differently at the time of the sync, so the address is checked again.
    await withDb(mongodbUri, (db) =>
      db
        .collection<{ _id: string }>('connectors')
        .updateOne({ _id: id }, { $set: { 'settings.urls': ['https://10.0.0.1/'] } }),
    );
    expect((await connectors.sync(id)).errors).toMatchObject([{ error_code: 'BLOCKED_ADDRESS' }]);
  });

  test('is removed with its database', async () => {
    const site = await siteOf({ '/page': html('Page', 'A page.') });
    await api.createDatabase('short-lived');
    const settings = { urls: [`${site.url}/page`] };
    const id = await connectors.create({ kind: 'web', database: 'short-lived', settings });
    await connectors.sync(id);
    expect((await api.del('/databases/short-lived')).status).toBe(202);
    await eventually('the connector gone', async () => (await api.get(`/connectors/${id}`)).status === 404);
    await connectors.cleared(connectors.itemOf(id, `${site.url}/page`));
  });

  test('a sync fails when its database no longer exists', async () => {
    const site = await siteOf({ '/page': html('Page', 'A page.') });
    const id = await connectors.create({ kind: 'web', database, settings: { urls: [`${site.url}/page`] } });
    await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string }>('connectors').updateOne({ _id: id }, { $set: { database_id: 'tnt_gone' } }),
    );
    expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'failed', error_code: 'DATABASE_NOT_FOUND' });
    expect(site.requests).toEqual([]);
  });
});
