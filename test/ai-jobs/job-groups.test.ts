import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { AiJobRecord } from '../../storage/ai-jobs/job-record.js';
import { inTransaction } from '../../storage/transactions.js';
import { jobClientDuringTests, receiverDuringTests, temporalDuringTests } from '../support/during-tests.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { sharedProduct, withDb } from '../support/product.js';
import { reconcile } from '../support/reconcile.js';
import { aiJobRecord } from '../support/records.js';

const SENTIMENT = 'text/sentiment_analysis/wink';

describe('quick jobs that arrive together', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'job-groups';
  const api = jobClientDuringTests(org);
  /** Of an organisation that sends few. */
  const quiet = jobClientDuringTests('job-groups-quiet');
  const receiver = receiverDuringTests();
  const temporal = temporalDuringTests();

  test('end with one callback each, and are found in Temporal by their ids', async () => {
    const sent = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        api.submit(SENTIMENT, { text: `What a wonderful day ${n}.` }, { webhook_receiver: receiver.url }),
      ),
    );
    const finished = await Promise.all(sent.map((job) => api.finished(job)));
    expect(new Set(finished.map(({ status }) => status))).toEqual(new Set(['success']));
    const ids: string[] = sent.map(({ body }) => body.job_id);
    for (const id of ids) await receiver.waitFor('the callback', ({ json }) => json.job_id === id);
    expect(receiver.received.map(({ json }) => json.job_id).sort()).toEqual([...ids].sort());
    const query = `PostbackSource="${ids.at(-1)}" AND WorkflowType="runAiJobs"`;
    expect(await listedWorkflows(temporal, query)).toHaveLength(1);
  });

  test('have a workflow each when they are alone, which they name', async () => {
    const sent = await quiet.submit(SENTIMENT, { text: 'What a wonderful day.' });
    const workflow = `ai-job/${sent.body.job_id}`;
    expect(await quiet.finished(sent)).toMatchObject({ status: 'success', workflow });
    const { jobs } = (await quiet.request('GET', '/v3/ai/async')).body;
    expect(jobs).toContainEqual(expect.objectContaining({ job_id: sent.body.job_id, workflow }));
    expect(await temporal.workflow.getHandle(workflow).result()).toEqual({ succeeded: 1, failed: [] });
  });

  /**
   * Stores the jobs of a group at once, as requests do: otherwise the regular reconciler could start the group in between,
   * without the jobs that follow.
   */
  const addGroup = (group: string, changes: Partial<AiJobRecord>[]) => {
    const jobs = changes.map((each) =>
      aiJobRecord({ org, group, now: new Date(0), quick: true, time_limit_ms: 600_000, ...each }),
    );
    return withDb(mongodbUri, async (db) => {
      await inTransaction(db.client, (session) => db.collection<AiJobRecord>('ai_jobs').insertMany(jobs, { session }));
      return jobs.map(({ _id }) => _id);
    });
  };
  const finishedJob = (job_id: string) => api.finished({ status: 202, body: { job_id } });

  test('are all started again by the reconciler when its page ends within their group', async () => {
    // More than a page, which has the jobs of other groups too.
    const ids = await addGroup(`grp_${randomUUID()}`, Array(30).fill({}));
    await reconcile(sharedProduct());
    const statuses = await Promise.all(ids.map(async (id) => (await finishedJob(id)).status));
    expect(new Set(statuses)).toEqual(new Set(['success']));
  });

  describe('as a group whose workflow was lost', () => {
    const group = `grp_${randomUUID()}`;
    let well: string;
    let cancelled: string;
    let lost: string;
    let invalid: string;

    beforeAll(async () => {
      const jobs = [{}, { cancel_requested: true }, { runs: 1 }, { provider: 'no-such-provider' }];
      [well, cancelled, lost, invalid] = (await addGroup(group, jobs)) as [string, string, string, string];
      await reconcile(sharedProduct());
    });
    test('are started again together', async () => {
      expect(await finishedJob(well)).toMatchObject({ status: 'success', output: expect.anything() });
      expect(await temporal.workflow.getHandle(`ai-jobs/${org}/${group}`).result()).toEqual({
        succeeded: 2,
        failed: [
          { job: cancelled, error_message: 'The job was cancelled.' },
          { job: invalid, error_message: 'This provider is no longer configured.' },
        ],
      });
    });

    test('end as cancelled when that was requested', async () => {
      expect(await finishedJob(cancelled)).toMatchObject({ status: 'fail', error: { code: 'cancelled' } });
    });

    test('fail alone', async () => {
      const message = 'This provider is no longer configured.';
      expect(await finishedJob(invalid)).toMatchObject({ status: 'fail', error: { message } });
    });

    test('continue alone when a run was lost with its process', async () => {
      expect(await finishedJob(lost)).toMatchObject({ status: 'success', output: expect.anything() });
      const { events } = await temporal.workflow.getHandle(`ai-jobs/${org}/${group}`).fetchHistory();
      const activities = (events ?? []).flatMap((event) => event.activityTaskScheduledEventAttributes ?? []);
      expect(activities.map(({ activityType }) => activityType?.name)).toEqual(['runProvider']);
    });
  });
});
