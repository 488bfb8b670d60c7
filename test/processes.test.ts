import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { startChild } from '../cli/child.js';
import { STALE_KINDS } from '../domain/workflow-contract.js';
import { createProcesses } from '../storage/processes.js';
import { collectionsDuringTests, processesDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { temporaryFolder } from './support/folder.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { aiJobRecord } from './support/records.js';

describe('the processes of an installation', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'processes'));
  const worker = { _id: 'w1', role: 'worker' as const, queues: ['content' as const, 'control' as const] };
  /** As if the last sign of a process was long ago. */
  const loseSigns = () => collections.processes.updateMany({}, { $set: { alive_until: new Date(0) } });

  test('show the task queues that no running worker serves', async () => {
    const processes = createProcesses(collections);
    expect((await processes.health()).queuesWithoutWorker).toContain('content');
    await processes.seen(worker);
    await processes.seen({ _id: 'a1', role: 'api', queues: [] });
    expect((await processes.health()).queuesWithoutWorker).toEqual(['ai', 'crews', 'connectors', 'deliveries']);
    await processes.ended(worker, null);
    expect((await processes.health()).queuesWithoutWorker).toContain('control');
    expect((await processes.health()).ends).toEqual([]);
  });

  test('are counted when they end by an error, or without a sign', async () => {
    const processes = createProcesses(collections);
    await processes.seen(worker);
    await processes.ended(worker, 'error');
    await processes.ended(worker, 'error');
    await processes.seen(worker);
    await loseSigns();
    await processes.seen({ ...worker, _id: 'w2' });
    const { ends } = await processes.health();
    expect(ends).toContainEqual({ role: 'worker', reason: 'error', count: 1 });
    expect(ends).toContainEqual({ role: 'worker', reason: 'lost', count: 1 });
  });

  test('report an API whose signs are late once, and a worker never', async () => {
    const processes = createProcesses(collections);
    await collections.processes.deleteMany({});
    for (const each of [
      { _id: 'a2', role: 'api' as const, queues: [] },
      { ...worker, _id: 'w3' },
    ]) {
      await processes.seen(each);
      // Not late before the test says so, however long its calls take.
      await collections.processes.updateOne({ _id: each._id }, { $set: { alive_until: new Date('2999-01-01') } });
    }
    expect(await processes.seen(worker)).toBe(false);
    // Fifteen seconds after their last signs.
    const signs = [{ $set: { alive_until: { $add: ['$$NOW', 15_000] } } }];
    await collections.processes.updateOne({ _id: 'w3' }, signs);
    expect(await processes.seen(worker)).toBe(false);
    await collections.processes.updateOne({ _id: 'a2' }, signs);
    expect([await processes.seen(worker), await processes.seen(worker)]).toEqual([true, false]);
  });

  test('report an API that has ended by an error', async () => {
    const processes = createProcesses(collections);
    await Promise.all([collections.processes.deleteMany({}), collections.processEnds.deleteMany({})]);
    const api = { _id: 'a3', role: 'api' as const, queues: [] };
    await processes.seen(api);
    await processes.ended(api, 'error');
    expect(await processes.seen(worker)).toBe(true);
    expect((await processes.health()).ends).toEqual([{ role: 'api', reason: 'error', count: 1 }]);
  });

  test('know when all searches for lost work were completed last', async () => {
    const processes = createProcesses(collections);
    expect((await processes.health()).sweptAt).toBeNull();
    await processes.expectSweeps();
    const expected = (await processes.health()).sweptAt;
    expect(expected).toEqual(expect.any(Date));
    await processes.expectSweeps();
    expect((await processes.health()).sweptAt).toEqual(expected);
    for (const kind of STALE_KINDS) await processes.swept(kind);
    await collections.sweeps.updateOne({ _id: 'items' }, { $set: { completed_at: new Date(1_000) } });
    expect((await processes.health()).sweptAt).toEqual(new Date(1_000));
  });
});

describe('work that a killed API has stored but not started', () => {
  const name = 'killed-api';
  // Without the reconciler's schedule, and its wait until work is quiet.
  const never = { POSTBACK_RECONCILE_SECONDS: '36000', POSTBACK_RECONCILE_QUIET_SECONDS: '36000' };
  processesDuringTests(name, () => never);
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, name));

  test('is started when its signs are late', async () => {
    // Older than its API's last sign. The one search for it leaves out what is younger than three seconds by another clock.
    const job = aiJobRecord({ org: name, now: new Date(Date.now() - 20_000) });
    await collections.aiJobs.insertOne(job);
    const ended = { _id: 'killed', role: 'api' as const, queues: [] };
    await createProcesses(collections).seen(ended);
    await collections.processes.updateOne({ _id: ended._id }, [{ $set: { alive_until: { $add: ['$$NOW', 15_000] } } }]);
    const finished = () => collections.aiJobs.findOne({ _id: job._id, finished_at: { $ne: null } });
    expect(await eventually('the job finished', finished)).toMatchObject({ org: name });
  });
});

describe('a process of npm start', () => {
  const folder = temporaryFolder('postback-processes-');
  const printed: string[] = [];
  const print = (line: string) => void printed.push(line);
  const waitFor = (line: string) => eventually(line, async () => printed.includes(line));

  test('that ends is named with the reason, and started again after growing pauses', async () => {
    mkdirSync(join(folder, 'worker'), { recursive: true });
    writeFileSync(
      join(folder, 'worker', 'main.js'),
      "console.error('postback: no disk');\nsetTimeout(() => process.exit(3), 50);",
    );
    const child = startChild('worker', process.env, folder, print, folder);
    await waitFor('worker ended (code 3: postback: no disk); starting it again in 1 s');
    await waitFor('worker ended (code 3: postback: no disk); starting it again in 2 s');
    await child.stop();
  });

  test('that cannot be started, or cannot write its log, does not end npm start', async () => {
    const { execPath } = process;
    mkdirSync(join(folder, 'logs', 'api.log'), { recursive: true });
    process.execPath = '/nowhere/node';
    const child = startChild('api', process.env, folder, print, folder);
    process.execPath = execPath;
    await eventually('the reason', async () => printed.some((line) => /^api ended \(.*ENOENT/.test(line)));
    await eventually('the log', async () => printed.some((line) => /^the log of api is not written/.test(line)));
    await child.stop();
  });
});

test.each([
  ['an error that nothing caught', "setTimeout(() => { throw new Error('lost') })"],
  ['a rejection that nothing caught', "setTimeout(() => void Promise.reject(new Error('lost')))"],
])('a process that is ended by %s says so, after it has told others', (how, cause) => {
  const module = new URL('../runtime/process.js', import.meta.url).href;
  const code = `import { onFatalError, runProcess } from ${JSON.stringify(module)};
    onFatalError(async () => console.log('told'));
    await runProcess(async () => { ${cause}; await new Promise((resolve) => setTimeout(resolve, 60_000)); });`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    encoding: 'utf8',
  });
  expect(stderr).toContain(`postback: ended by ${how}: Error: lost`);
  expect({ status, stdout }).toEqual({ status: 1, stdout: 'told\n' });
});
