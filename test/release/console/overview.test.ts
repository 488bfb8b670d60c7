import { beforeAll, expect, test } from '@jest/globals';
import { createClient } from '../../support/client.js';
import { connectorsOf } from '../../support/connectors.js';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { createCrewClient } from '../../support/crew-client.js';
import { receiverDuringTests } from '../../support/during-tests.js';
import { eventually } from '../../support/eventually.js';
import { createJobClient } from '../../support/job-client.js';
import { makeKey, sharedProduct, withDb } from '../../support/product.js';

const INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels take two working days.' };

inChromium('the overview of the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const tab = consoleDuringTests(apiUrl);
  const receiver = receiverDuringTests();
  const ORG = 'console-overview';
  let api: string;
  let crew: string;
  beforeAll(async () => {
    [{ key: api }, { key: crew }] = await Promise.all([makeKey(mongodbUri, ORG), makeKey(mongodbUri, ORG, 'crew_org')]);
  });

  test('an empty instance adds the examples in one click, and takes them away again', async () => {
    await tab.visit({ api, crew }, 'overview');
    const add = tab.page.getByRole('button', { name: 'Add the examples' });
    await add.waitFor();
    await tab.isFine('first-visit');
    await add.press('Enter');
    const examples = tab.page.getByRole('region', { name: 'Examples' });
    await tab.shows(examples, 'The examples are in the database');
    const waits = tab.page.getByRole('region', { name: 'Waits for you' });
    await waits.getByRole('link', { name: 'support-reply › draft reply' }).waitFor();
    await tab.shows(tab.page.getByRole('region', { name: 'Items by state' }), /^5$/);
    await tab.isFine('with-examples');

    await examples.getByRole('link', { name: 'Ask how often the lamp flashes' }).click();
    await tab.page.locator('mark', { hasText: /lamp/i }).first().waitFor();
    await tab.visit({ api, crew }, 'overview');
    await tab.page.getByRole('button', { name: 'Remove the examples' }).press('Enter');
    await add.waitFor();
  });

  test('a database of that name with other items is not taken for the examples', async () => {
    const { key } = await makeKey(mongodbUri, 'console-own-examples');
    const own = createClient(apiUrl, key);
    await own.createDatabase('examples');
    await own.ingest({ database: 'examples', memories: JSON.stringify([{ id: 'mine', text: 'My own note.' }]) });
    await own.ended('examples', 'mine');
    await tab.visit({ api: key }, 'overview');
    await tab.shows(tab.page.getByRole('region', { name: 'Items by state' }), /^1$/);
    expect(await tab.page.getByRole('button', { name: 'Remove the examples' }).count()).toBe(0);
  });

  test('what fails and what waits comes first', async () => {
    const jobs = createJobClient(apiUrl, api);
    const failed = await jobs.submit('text/summarize/wink', {
      text: 'Der Leuchtturm steht seit hundert Jahren am Hafen.',
    });
    expect((await jobs.finished(failed)).status).toBe('fail');
    const support = createCrewClient(apiUrl, 'support-reply', crew);
    const id = await support.start(INPUTS);
    await support.reaches(id, 'pending_human_input');
    await tab.visit({ api, crew }, 'overview');
    await tab.shows(tab.page.getByRole('region', { name: 'Needs attention' }), 'text/summarize');
    const waits = tab.page.getByRole('region', { name: 'Waits for you' });
    await tab.shows(waits, 'Parcels take two working days.');
    await tab.isFine('overview');
    await waits.getByRole('link').first().press('Enter');
    await tab.drawer().getByRole('button', { name: 'Approve' }).click();
    await support.reaches(id, 'completed');
  });

  test('a receiver that rejects is named while callbacks are retried, and a failed item by its file', async () => {
    const { key } = await makeKey(mongodbUri, 'console-rejecting');
    const own = createClient(apiUrl, key);
    await own.createDatabase('files');
    receiver.respond = () => ({ status: 503 });
    await own.post('/webhooks/indexing', { url: receiver.url });
    await own.ingest({ database: 'files' }, [{ name: 'empty-page.html', content: '<html></html>' }]);
    // The third attempt is made five minutes later.
    const { delivery_id } = await eventually('the second attempt fails', async () => {
      const { deliveries } = (await own.get('/deliveries?status=failed')).body.data;
      return deliveries.find(({ attempts }: { attempts: number }) => attempts === 2);
    });
    await tab.visit({ api: key }, 'overview');
    const attention = tab.page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: 'empty-page.html' }).waitFor();
    expect(await attention.getByText('still rejects').count()).toBe(0);
    await withDb(mongodbUri, (db) =>
      db.collection('deliveries').updateOne({ _id: delivery_id }, { $set: { attempts: 3 } }),
    );
    await tab.shows(attention, 'still rejects 1 callback');
    await tab.isFine('rejecting-receiver');
  });

  test('a connector and a crew are named until they work again', async () => {
    const { key } = await makeKey(mongodbUri, 'console-failures');
    const { key: crewKey } = await makeKey(mongodbUri, 'console-failures', 'crew_org');
    const own = createClient(apiUrl, key);
    await own.createDatabase('news');
    const connectors = connectorsOf(own, mongodbUri);
    const feed = await connectors.create({ kind: 'feed', database: 'news', settings: { url: `${apiUrl}/no-feed` } });
    await connectors.sync(feed);
    const support = createCrewClient(apiUrl, 'support-reply', crewKey);
    const id = await support.start(INPUTS);
    await support.reaches(id, 'pending_human_input');
    await support.request('POST', `/crews/support-reply/${id}/cancel`);
    await support.reaches(id, 'error');

    await tab.visit({ api: key, crew: crewKey }, 'overview');
    const attention = tab.page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('link', { name: '/no-feed' }).waitFor();
    await tab.isFine('overview-failed-sync');
    await attention.getByRole('link', { name: '/no-feed' }).press('Enter');
    await tab.shows(tab.drawer(), 'Failed');
    expect(await tab.page.getByRole('row').getByText('unchanged').count()).toBe(0);
    await tab.visit({ api: key, crew: crewKey }, 'overview');
    // A person has cancelled it.
    expect(await attention.getByText('support-reply').count()).toBe(0);
    const change = { error_code: 'E5001', error_message: 'The model does not respond.' };
    await withDb(mongodbUri, (db) =>
      db.collection<{ _id: string }>('crew_executions').updateOne({ _id: id }, { $set: change }),
    );
    await tab.visit({ api: key, crew: crewKey }, 'overview');
    await tab.shows(attention, /The model does not respond/);
    await attention.getByRole('link', { name: id }).press('Enter');
    await tab.shows(tab.drawer(), 'The model does not respond.');
  });

  test('a crew key alone shows what waits', async () => {
    await tab.visit({ crew }, 'overview');
    await tab.shows(tab.page, 'Nothing waits for you.');
    await tab.isFine('overview-crew-key');
  });
});
