import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { obtainBinary } from '../../dev-stack/binaries.js';
import { defaultCacheDir } from '../../dev-stack/index.js';
import type { Client } from '../support/client.js';
import { connectorsOf } from '../support/connectors.js';
import { duringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { clientOf } from '../support/organisation.js';
import { databaseBeside, type Product, sharedProduct, startProduct, withDb } from '../support/product.js';
import { html, startSite } from '../support/site.js';

/** Events after which the server suggests to continue as new: 4,096 by default, here exceeded by every step of a sync. */
const LONG = 8;

// Starts its own Temporal, with a low limit for histories, and its own processes and database.
describe('when a history has become long', () => {
  const org = 'long';
  const database = 'atlas';
  const mongodbUri = databaseBeside(sharedProduct().mongodbUri, 'continue-as-new');
  let env: TestWorkflowEnvironment;
  let product: Product;
  let temporal: TemporalClient;
  let api: Client;
  let connectors: ReturnType<typeof connectorsOf>;
  const site = duringTests(() => startSite());
  beforeAll(async () => {
    const path = await obtainBinary('temporal', {
      cacheDir: defaultCacheDir(process.env),
      env: process.env,
      log: () => undefined,
    });
    env = await TestWorkflowEnvironment.createLocal({
      server: {
        executable: { type: 'existing-path', path },
        extraArgs: ['--dynamic-config-value', `limit.historyCount.suggestContinueAsNew=${LONG}`],
      },
    });
    product = await startProduct({
      TEMPORAL_ADDRESS: env.address,
      MONGODB_URI: mongodbUri,
      POSTBACK_EMBEDDINGS: 'off',
    });
    temporal = env.client;
    api = await clientOf(org, product);
    connectors = connectorsOf(api, mongodbUri);
    await api.createDatabase(database);
  });
  afterAll(async () => {
    await product?.remove();
    await env?.teardown();
  });

  /** The final status of each run of a connector's workflows. Waits until none is running. */
  function runsOf(type: string, connector: string): Promise<string[]> {
    const query = `WorkflowType="${type}" AND PostbackSource="${connector}"`;
    return eventually(`${type} ended`, async () => {
      const statuses: string[] = [];
      for await (const { status } of temporal.workflow.list({ query })) statuses.push(status.name);
      return statuses.includes('COMPLETED') && !statuses.includes('RUNNING') && statuses.sort();
    });
  }

  test('a sync continues in new runs: the client sees one sync, and each page is ingested once', async () => {
    const paths = Array.from({ length: 45 }, (_, n) => `/page-${n}`);
    for (const path of paths) site.pages.set(path, { body: html(path, `The text of ${path}.`) });
    const urls = paths.map((path) => site.url + path);
    const id = await connectors.create({ kind: 'web', database, settings: { urls } });
    const { last_sync, errors } = await connectors.sync(id);
    expect([last_sync, errors]).toMatchObject([{ number: 1, status: 'completed', counts: { new: 45, failed: 0 } }, []]);
    // Three batches of pages, then the end of the sync.
    expect(await runsOf('syncConnector', id)).toEqual(['COMPLETED', ...Array(3).fill('CONTINUED_AS_NEW')]);
    const pageRequests = site.requests.filter((request) => !request.endsWith('/robots.txt'));
    expect(pageRequests.sort()).toEqual(paths.map((path) => `200 ${path}`).sort());
    const versions = await withDb(mongodbUri, (db) =>
      db.collection('items').find({ 'additional_metadata.connector_id': id }).toArray(),
    );
    expect(versions.map(({ version }) => version)).toEqual(paths.map(() => 1));

    // Vanished pages are removed by a run that has not read the listing.
    for (const url of urls) await api.ended(database, connectors.itemOf(id, url));
    for (const path of paths.slice(0, 30)) site.pages.delete(path);
    expect((await connectors.sync(id)).last_sync).toMatchObject({ number: 2, counts: { unchanged: 15, removed: 30 } });

    expect((await api.del(`/connectors/${id}`)).status).toBe(200);
    expect(await runsOf('removeConnector', id)).toEqual(['COMPLETED', 'CONTINUED_AS_NEW']);
  });
});
