import { afterAll, describe, expect, test } from '@jest/globals';
import { connectTemporal } from '../../temporal/connection.js';
import { eventually } from '../support/eventually.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { sharedProduct, withDb } from '../support/product.js';

const BULK = 300;
/** Long enough for the work of seconds, most of which the end of the test saves. */
const WORDS = 'the keeper lit the lamp and wrote the hour of the evening into the log of the house '.repeat(10);

const { mongodbUri, temporalAddress } = sharedProduct();
const org = 'fairness-neighbour';
const bulkOrg = 'fairness-bulk';
const temporal = await connectTemporal(temporalAddress, 'default');
const [neighbour, bulk] = await Promise.all([clientOf(org), clientOf(bulkOrg)]);
for (const api of [neighbour, bulk]) await api.createDatabase('notes');
const receiver = await registeredReceiver(neighbour);
afterAll(async () => {
  await bulk.del('/databases/notes');
  await receiver.close();
  await temporal.connection.close();
});

describe('beside the bulk ingest of another organisation', () => {
  /** Items of the bulk of this round that were not completed when its note was. */
  const behindNote = (round: number) =>
    withDb(mongodbUri, async (db) => {
      const items = db.collection<{ org: string; id: string; updated_at: Date }>('items');
      const { updated_at } = (await items.findOne({ org, id: `note-${round}` }))!;
      const later = [{ indexing_status: { $ne: 'completed' } }, { updated_at: { $gt: updated_at } }];
      return items.countDocuments({ org: bulkOrg, id: new RegExp(`^bulk-${round}-`), $or: later } as never);
    });
  const priorityOf = async (organisation: string, type: string) => {
    const query = `PostbackOrganisation="${organisation}" AND WorkflowType="${type}"`;
    const [found] = await listedWorkflows(temporal, query);
    const { raw } = await temporal.workflow.getHandle(found!.workflowId, found!.runId).describe();
    return raw.workflowExecutionInfo?.priority;
  };

  test('a note is completed while most of the bulk still waits', async () => {
    let round = 0;
    // On a busy machine the bulk can get ahead while the request of the note is on its way.
    await eventually('a note before most of the bulk', async () => {
      round += 1;
      const entries = Array.from({ length: BULK }, (_, n) => ({
        id: `bulk-${round}-${n}`,
        text: `Entry ${n}: ${WORDS}`,
      }));
      await bulk.ingest({ database: 'notes', memories: JSON.stringify(entries) });
      const note = { id: `note-${round}`, text: 'The lamp was lit at dusk.' };
      await neighbour.ingest({ database: 'notes', memories: JSON.stringify([note]) });
      await receiver.waitFor('the webhook of the note', ({ json }) => json.id === note.id);
      return (await behindNote(round)) > BULK / 2;
    });
    // A small request goes first, with the organisation as fairness key.
    expect(await priorityOf(org, 'indexItems')).toMatchObject({ priorityKey: 2, fairnessKey: org });
    expect(await priorityOf(bulkOrg, 'indexItems')).toMatchObject({ priorityKey: 3, fairnessKey: bulkOrg });
  });

  test('files take none of the slots of notes', async () => {
    const file = {
      name: 'file.html',
      content: '<html><body>The lamp of the lighthouse was lit at dusk.</body></html>',
    };
    await neighbour.ingest({ database: 'notes', document_metadata: '[{"id":"file"}]' }, [file]);
    await neighbour.ended('notes', 'file');
    expect(await activitiesOf('file')).toEqual([
      ['extractItem', 'content-files'],
      ['embedAndIndexItem', 'content-files'],
      ['linkItemGraph', 'content-files'],
      ['finishItem', 'content'],
    ]);
  });

  test('small files of text take one activity, also of those slots', async () => {
    const text = (name: string) => ({ name, content: `The lamp of ${name} was lit at dusk.` });
    const names = ['first.txt', 'second.md'];
    await neighbour.ingest({ database: 'notes', document_metadata: '[{"id":"alone"}]' }, [text('alone.md')]);
    const metadata = JSON.stringify(names.map((id) => ({ id })));
    await neighbour.ingest({ database: 'notes', document_metadata: metadata }, names.map(text));
    for (const id of ['alone', ...names]) await neighbour.ended('notes', id);
    for (const id of ['alone', ...names]) expect(await activitiesOf(id)).toEqual([['indexTogether', 'content-files']]);
  });

  /** Name and queue of each activity in the history of an item's only workflow. */
  async function activitiesOf(id: string) {
    const query = `WorkflowType STARTS_WITH "index" AND PostbackOrganisation="${org}" AND PostbackSource="${id}"`;
    const [found] = await listedWorkflows(temporal, query);
    const { events } = await temporal.workflow.getHandle(found!.workflowId, found!.runId).fetchHistory();
    return (events ?? []).flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
      activity ? [[activity.activityType?.name, activity.taskQueue?.name]] : [],
    );
  }
});
