import { describe, expect, test } from '@jest/globals';
import { newBatchId } from '../../domain/ids.js';
import { temporalDuringTests } from '../support/during-tests.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { clientOf } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';

describe('the workflow of a group', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'group-workflow';
  const temporal = temporalDuringTests();

  /** Ids and types of the item workflows that the Temporal UI finds for an item. */
  const workflowsOf = async (id: string) => {
    const query = `PostbackOrganisation="${org}" AND PostbackSource="${id}" AND WorkflowType STARTS_WITH "indexItem"`;
    return (await listedWorkflows(temporal, query)).map(({ type, workflowId }) => [type, workflowId]);
  };

  test('is found by the id of each of its items, and a single item has a workflow of its own', async () => {
    const api = await clientOf(org);
    await api.createDatabase('notes');
    const ids = ['north "1"', 'south', 'west'];
    const memories = ids.map((id) => ({ id, text: `The ${id} lamp.` }));
    await api.ingest({ database: 'notes', memories: JSON.stringify(memories) });
    await api.ingest({ database: 'notes', memories: '[{"id":"alone","text":"A lamp."}]' });
    for (const id of [...ids, 'alone']) await api.ended('notes', id);
    const [first, ...others] = await Promise.all(['south', 'west'].map(workflowsOf));
    expect(first).toHaveLength(1);
    expect(first![0]![0]).toBe('indexItems');
    expect(others).toEqual([first]);
    expect((await workflowsOf('alone')).map(([type]) => type)).toEqual(['indexItem']);
  });

  test('is started by the reconciler with all of its items when it is missing', async () => {
    const api = await clientOf(org);
    await api.createDatabase('lost');
    await api.ingest({ database: 'lost', memories: '[{"id":"pattern","text":"A lamp."}]' });
    await api.ended('lost', 'pattern');
    const batch = newBatchId();
    // More than the reconciler reads at a time.
    const ids = Array.from({ length: 25 }, (_, n) => `member-${n}`);
    await withDb(mongodbUri, async (db) => {
      const { _id, ...pattern } = (await db.collection('items').findOne({ org, id: 'pattern' }))!;
      const queued = { ...pattern, batch, group: 0, indexing_status: 'queued', check_at: new Date(0) };
      const records = ids.map((id) => ({ ...queued, _id: `${_id}-${id}`, id }));
      await db.collection<{ _id: string }>('items').insertMany(records);
    });
    await reconcile(sharedProduct());
    for (const id of ids) expect(await api.ended('lost', id)).toMatchObject({ indexing_status: 'completed' });
    for (const id of [ids[0]!, ids[24]!])
      expect(await workflowsOf(id)).toEqual([['indexItems', `items/${org}/${batch}/0`]]);
  });
});
