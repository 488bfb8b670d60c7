import { beforeAll, describe, expect, test } from '@jest/globals';
import { connectorsOf } from '../support/connectors.js';
import { clientDuringTests, duringTests } from '../support/during-tests.js';
import { sharedProduct, withDb } from '../support/product.js';
import { startSite } from '../support/site.js';

describe('a feed connector', () => {
  const { mongodbUri } = sharedProduct();
  const database = 'news';
  const api = clientDuringTests('connectors-feed');
  const connectors = connectorsOf(api, mongodbUri);
  const site = duringTests(() => startSite());
  beforeAll(() => api.createDatabase(database));

  const counts = (some: object) => ({ new: 0, changed: 0, unchanged: 0, removed: 0, failed: 0, ...some });
  const serve = (path: string, body: string | Buffer) => site.pages.set(path, { body, type: 'application/xml' });
  const rss = (entries: [guid: string, title: string, text: string][]) =>
    `<?xml version="1.0"?><rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>
    <title>Harbour news</title><link>https://harbour.example/</link><description>News</description>${entries
      .map(
        ([guid, title, text]) =>
          `<item><guid isPermaLink="false">${guid}</guid><title>${title}</title><link>https://harbour.example/${guid}</link>
          <description>Short.</description><content:encoded><![CDATA[<p>${text}</p>]]></content:encoded></item>`,
      )
      .join('')}</channel></rss>`;
  const text = async (item: string, query: string) => {
    const { data } = (await api.post('/query', { database, query, ids: [item] })).body;
    return data.chunks.map((chunk: { title: string; text: string }) => `${chunk.title}: ${chunk.text}`).join();
  };

  test('ingests the entries of an RSS feed by their guid, and does not read unchanged entries again', async () => {
    serve(
      '/rss',
      rss([
        ['g1', 'Tides', 'High water at nine.'],
        ['g2', 'Fees &amp; dues', 'A berth costs ten crowns.'],
      ]),
    );
    const id = await connectors.create({ kind: 'feed', database, settings: { url: `${site.url}/rss` } });
    expect(await connectors.sync(id)).toMatchObject({ last_sync: { counts: counts({ new: 2 }) }, errors: [] });
    const [tides, fees] = [connectors.itemOf(id, 'g1'), connectors.itemOf(id, 'g2')];
    for (const item of [tides, fees]) {
      expect(await api.ended(database, item)).toMatchObject({ indexing_status: 'completed' });
    }
    expect(await text(fees, 'berth')).toContain('Fees & dues: A berth costs ten crowns.');
    const record = await withDb(mongodbUri, (db) => db.collection('items').findOne({ id: tides }));
    expect(record!.additional_metadata).toEqual({
      source: 'https://harbour.example/g1',
      resource: 'g1',
      connector_id: id,
    });

    site.requests.length = 0;
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ unchanged: 2 }) });
    expect(site.requests).toEqual(['304 /rss']);

    // The feed has a new etag, and one of its two entries has changed.
    serve(
      '/rss',
      rss([
        ['g1', 'Tides', 'High water at ten.'],
        ['g2', 'Fees &amp; dues', 'A berth costs ten crowns.'],
      ]),
    );
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ changed: 1, unchanged: 1 }) });
    await api.ended(database, tides);
    expect(await text(tides, 'high water')).toContain('ten');
  });

  test('makes no conditional request to a feed that replaced another during a sync', async () => {
    // Both feeds have the same etag.
    for (const path of ['/before', '/after']) serve(path, rss([['g1', 'Tides', 'High water at nine.']]));
    const settings = (path: string) => ({ url: site.url + path });
    const id = await connectors.create({ kind: 'feed', database, settings: settings('/before') });
    site.hold = async (path) => {
      if (path !== '/before') return;
      await api.request('PATCH', `/connectors/${id}`, { json: { settings: settings('/after') } });
    };
    await connectors.sync(id);
    site.hold = undefined;
    site.requests.length = 0;
    for (let n = 0; n < 2; n++) await connectors.sync(id);
    expect(site.requests).toEqual(['200 /after', '304 /after']);
  });

  test('keeps entries that the feed has dropped, unless remove_dropped is set', async () => {
    for (const [remove_dropped, removed] of [
      [false, 0],
      [true, 1],
    ] as const) {
      const path = `/rss-${remove_dropped}`;
      serve(
        path,
        rss([
          ['old', 'Old', 'The old news.'],
          ['mid', 'Middle', 'The news between.'],
        ]),
      );
      const id = await connectors.create({
        kind: 'feed',
        database,
        settings: { url: site.url + path, remove_dropped },
      });
      await connectors.sync(id);
      serve(
        path,
        rss([
          ['mid', 'Middle', 'The news between.'],
          ['new', 'New', 'The newest news.'],
        ]),
      );
      expect((await connectors.sync(id)).last_sync).toMatchObject({
        counts: counts({ new: 1, unchanged: 1, removed }),
      });
      expect(await connectors.traces(connectors.itemOf(id, 'old'))).toMatchObject({ items: 1 - removed });
    }
  });

  test('reads an Atom feed in the charset it declares', async () => {
    const atom = `<?xml version="1.0" encoding="iso-8859-1"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Log</title>
      <id>urn:log</id><updated>2026-01-01T00:00:00Z</updated>
      <entry><id>urn:1</id><title>Gr\xe5 sj\xf6</title><link href="/entry/1"/><updated>2026-01-01T00:00:00Z</updated>
      <content type="html">&lt;p&gt;The s\xf6lling boat came in.&lt;/p&gt;</content></entry>
      <entry><id>urn:2</id><title>Plain</title><updated>2026-01-01T00:00:00Z</updated><summary>5 &lt; 6 knots</summary></entry></feed>`;
    serve('/atom', Buffer.from(atom, 'latin1'));
    const id = await connectors.create({ kind: 'feed', database, settings: { url: `${site.url}/atom` } });
    expect((await connectors.sync(id)).last_sync).toMatchObject({ counts: counts({ new: 2 }) });
    const [first, second] = [connectors.itemOf(id, 'urn:1'), connectors.itemOf(id, 'urn:2')];
    for (const item of [first, second]) {
      expect(await api.ended(database, item)).toMatchObject({ indexing_status: 'completed' });
    }
    expect(await text(first, 'boat')).toContain('Grå sjö: The sölling boat came in.');
    expect(await text(second, 'knots')).toContain('5 < 6 knots');
    const record = await withDb(mongodbUri, (db) => db.collection('items').findOne({ id: first }));
    expect(record!.additional_metadata.source).toBe(`${site.url}/entry/1`);
  });

  test('a page that is not a feed and a missing feed fail the sync with a reason', async () => {
    serve('/page', '<!doctype html><title>No feed</title>');
    for (const [path, error_code] of [
      ['/page', 'INVALID_LISTING'],
      ['/missing', 'NOT_FOUND'],
    ]) {
      const id = await connectors.create({ kind: 'feed', database, settings: { url: site.url + path } });
      expect((await connectors.sync(id)).last_sync).toMatchObject({ status: 'failed', error_code, counts: counts({}) });
    }
  });
});
