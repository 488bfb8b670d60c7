import { openCollections } from '../../../storage/collections.js';
import { createIndexRebuilds } from '../../../storage/content/index-rebuilds.js';
import { createStarters } from '../../../temporal/starters.js';
import { withDb } from '../product.js';
import { reconcile } from '../reconcile.js';
import { noteOf, type Recording } from './recording.js';

const DATABASE = 'content';

/** Records the ways of databases and items. */
export async function recordContent(recording: Recording): Promise<void> {
  const { api, product, record, newest } = recording;
  await api.createDatabase(DATABASE);
  await record('provision-database', await newest('WorkflowType="provisionDatabase"'));

  const together = ['well', 'gone'].map((id) => ({ id, text: noteOf(id) }));
  await api.ingest({ database: DATABASE, memories: JSON.stringify(together) });
  await api.ingest({ database: DATABASE, memories: JSON.stringify([{ id: 'alone', text: noteOf('alone') }]) });
  // More than a request starts itself. Text files would share a workflow.
  const files = ['broken.pdf', 'read.html', 'one.html', 'two.html', 'three.html'];
  await api.ingest(
    { database: DATABASE, document_metadata: JSON.stringify(files.map((name) => ({ id: name.split('.')[0] }))) },
    files.map((name) => ({
      name,
      content: name === 'broken.pdf' ? '%PDF-1.7\nnothing of a PDF follows' : `<p>${noteOf(name)}</p>`,
    })),
  );
  for (const id of ['well', 'gone', 'broken', 'read', 'alone']) await api.ended(DATABASE, id);
  const workflowOf = (type: string, id: string) => newest(`WorkflowType="${type}" AND PostbackSource="${id}"`);
  await record('index-large-item-completed', await workflowOf('indexLargeItem', 'read'));
  await record('index-large-item-errored', await workflowOf('indexLargeItem', 'broken'));
  await record('index-items-lone', await workflowOf('indexItems', 'alone'));
  await record('index-items-together', await workflowOf('indexItems', 'well'));
  await record('start-ingested-items', await newest('WorkflowType="startIngestedItems"'));

  await losesItsProcess(recording);
  await record('index-items-alone-errored', await workflowOf('indexItems', 'lost'));
  // As if a process had died before it wrote the index rows of a change: the reconciler starts the workflow.
  await withDb(product.mongodbUri, (db) =>
    db.collection('items').updateOne({ id: 'well' }, { $set: { rows_due: ['chg_recorded'], check_at: new Date(0) } }),
  );
  await reconcile(product);
  await record('refresh-index-rows', await newest('WorkflowType="refreshIndexRows"'));

  await record('rebuild-index', await rebuildIndexes(recording));
  await record('rebuild-index-cancelled', await rebuildIndexes(recording, { cancelled: true }));
  await api.request('DELETE', '/context', { json: { database: DATABASE, ids: ['well', 'broken'] } });
  await record('clear-removed-items', await newest('WorkflowType="clearRemovedItems"'));
  await api.del(`/databases/${DATABASE}`);
  await record('delete-database', await newest('WorkflowType="deleteDatabase"'));
}

/** A copy of the small item, as if its processing had been lost three times with the process that read it. */
async function losesItsProcess({ product }: Recording): Promise<void> {
  await withDb(product.mongodbUri, async (db) => {
    const alone = (await db.collection('items').findOne({ id: 'alone' }))!;
    const runs = { step: 'index', begun: 3, crashed: 3 };
    const changed = { _id: `${alone._id}-lost`, id: 'lost', indexing_status: 'queued', runs, check_at: new Date(0) };
    await db.collection<{ _id: string }>('items').insertOne({ ...alone, ...changed });
  });
  await reconcile(product);
}

/** Embeds all databases again. @returns the id of the workflow */
async function rebuildIndexes({ product, temporal }: Recording, { cancelled = false } = {}): Promise<string> {
  const collections = await openCollections(product.mongodbUri, 'postback-test');
  const { _id } = await createIndexRebuilds(collections).add({ database: null, all: true }, 'running');
  const starters = createStarters(temporal);
  await starters.startRebuild(_id, 1_000);
  if (cancelled) await starters.cancelRebuild(_id);
  else await temporal.workflow.getHandle(`index-rebuild/${_id}`).result();
  await collections.mongoClient.close();
  return `index-rebuild/${_id}`;
}
