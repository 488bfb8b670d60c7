import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Document, MongoClient } from 'mongodb';
import type { AiJobRecord, AiJobResultRecord } from '../../storage/ai-jobs/job-record.js';
import { createAiJobs } from '../../storage/ai-jobs/jobs.js';
import type { UploadRecord } from '../../storage/ai-jobs/uploads.js';
import { byOrganisation } from '../../storage/organisation-records.js';
import { connectMongo } from '../support/mongodb.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { aiJobRecord } from '../support/records.js';

const org = 'job-records';
const RETENTION_MS = 60_000;

describe('the records of AI jobs', () => {
  let client: MongoClient;
  let aiJobs: ReturnType<typeof byOrganisation<AiJobRecord>>;
  let aiJobResults: ReturnType<typeof byOrganisation<AiJobResultRecord>>;
  let jobs: ReturnType<typeof createAiJobs>;
  beforeAll(async () => {
    client = await connectMongo(databaseBeside(sharedProduct().mongodbUri, org), { monitorCommands: true });
    const db = client.db();
    aiJobs = byOrganisation(db.collection<AiJobRecord>('ai_jobs'));
    aiJobResults = byOrganisation(db.collection<AiJobResultRecord>('ai_job_results'));
    const uploads = byOrganisation(db.collection<UploadRecord>('uploads'));
    jobs = createAiJobs({ aiJobs, aiJobResults, uploads, mongoClient: client, now: () => new Date() }, RETENTION_MS);
  });

  async function added(...statuses: AiJobRecord['status'][]): Promise<string[]> {
    const records = statuses.map((status) => aiJobRecord({ org, now: new Date(), status }));
    await aiJobs.insertMany(records);
    return records.map(({ _id }) => _id);
  }

  test('a group is started by one command, which the driver repeats after an error of the network', async () => {
    const [queued, processing, ended] = await added('queued', 'processing', 'success');
    const updates: Document[] = [];
    client.on('commandStarted', ({ commandName, command }) => commandName === 'update' && updates.push(command));
    const started = await jobs.start(org, [queued!, processing!, ended!]);
    expect([...started.keys()].sort()).toEqual([queued!, processing!].sort());
    for (const job of started.values()) expect(job).toMatchObject({ status: 'processing', runs: 1 });
    expect(await aiJobs.findOne({ _id: ended! })).toMatchObject({ status: 'success', runs: 0 });
    // MongoDB applies a write with a number once, however often the driver sends it.
    expect(updates).toEqual([expect.objectContaining({ txnNumber: expect.anything() })]);
  });

  test('a result that arrives after the end of its job expires too', async () => {
    const [job] = await added('fail');
    await jobs.saveResult(org, job!, { output: '"late"', original: null });
    expect((await aiJobResults.findOne({ _id: job! }))!.expires_at.getTime()).toBeGreaterThan(
      Date.now() + RETENTION_MS,
    );
  });
});
