import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { connect, type Table } from '@lancedb/lancedb';
import { createCompactionLeases } from '../../storage/content/compaction-leases.js';
import { createLanceIndex } from '../../storage/content/search-index/lancedb/index.js';
import { ensureTextIndex } from '../../storage/content/search-index/lancedb/maintenance.js';
import { firstRow } from '../../storage/content/search-index/lancedb/schema.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { temporaryFolder } from '../support/folder.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { S3_ENVIRONMENT, startS3 } from '../support/s3.js';
import { question, row } from '../support/search-index-contract.js';

const uri = databaseBeside(sharedProduct().mongodbUri, 'compaction');
const collections = collectionsDuringTests(uri);

const folder = temporaryFolder('busy-index');

const never = async () => {
  throw new Error('must not run');
};

describe('the lease of a table', () => {
  test('has one owner, also when several processes take it at once, and others get it when its work ends or fails', async () => {
    const processes = Array.from({ length: 8 }, () => createCompactionLeases(collections));
    let owners = 0;
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const attempts = processes.map((leases) =>
      leases.own('tnt_one', async () => {
        owners += 1;
        await ended;
      }),
    );
    const refused = Promise.all(attempts.map(async (attempt) => ((await attempt) ? [] : [false])));
    await eventually('an owner', async () => owners === 1);
    expect(await processes[0]!.own('tnt_one', never)).toBe(false);
    expect(await processes[0]!.own('tnt_other', async () => undefined)).toBe(true);
    end();
    expect((await refused).flat()).toHaveLength(7);
    expect(owners).toBe(1);
    await expect(processes[1]!.own('tnt_one', never)).rejects.toThrow('must not run');
    expect(await processes[2]!.own('tnt_one', async () => undefined)).toBe(true);
  });

  test('of a dead owner runs out; that of a living owner is renewed', async () => {
    const leases = createCompactionLeases(collections, 300);
    await collections.compactionLeases.insertOne({
      _id: 'tnt_dead',
      owner: 'killed',
      until: new Date(Date.now() + 300),
      exclusive: true,
    });
    // A removal that waits for the dead owner goes on, too.
    await leases.whenShared('tnt_dead');
    await eventually('the lease has run out', () =>
      leases.own('tnt_dead', async () => {
        const until = async () => (await collections.compactionLeases.findOne({ _id: 'tnt_dead' }))!.until.getTime();
        const first = await until();
        await eventually('the lease is renewed twice', async () => (await until()) >= first + 200);
      }),
    );
  });
});

test('a table is compacted while another process removes and adds rows all the time', async () => {
  const table = 'tnt_busy';
  const location = folder;
  const [writer, owner] = Array.from({ length: 2 }, () =>
    createLanceIndex({ location, leases: createCompactionLeases(collections) }),
  ) as [ReturnType<typeof createLanceIndex>, ReturnType<typeof createLanceIndex>];
  await writer.create(table);
  for (let n = 0; n < 30; n += 1) await writer.write(table, [row(`a${n}:0`, 'plate')]);
  const fragments = async () => {
    const connection = await connect(location);
    const { fragmentStats } = await (await connection.openTable(table)).stats();
    connection.close();
    return fragmentStats.numFragments;
  };
  expect(await fragments()).toBeGreaterThanOrEqual(30);
  let isCompacted = false;
  let round = 0;
  const writing = (async () => {
    for (; !isCompacted; round += 1) {
      // Rows of the fragments that are compacted.
      const replaced = `a${round % 30}:0`;
      await writer.write(table, [row(replaced, `plate ${round}`)], [replaced]);
    }
  })();
  await eventually('the writer is at work', async () => round > 2);
  await owner.compact(table);
  isCompacted = true;
  await writing;
  // Those that the writer has added since then are not compacted yet.
  expect(await fragments()).toBeLessThan(15);
  const found = await owner.search(table, question('plate', { limit: 100 }));
  expect(found.map(({ chunk_id }) => chunk_id).sort()).toEqual(Array.from({ length: 30 }, (_, n) => `a${n}:0`).sort());
  await Promise.all([writer.close(), owner.close()]);
});

describe('an index that is missing is made', () => {
  type CreateIndex = Table['createIndex'];

  /** @param before what another process does between the look at the table and the commit, and what the commit then does */
  async function madeDespite(name: string, before: (create: CreateIndex, table: Table) => Promise<void>) {
    const connection = await connect(join(folder, name), { readConsistencyInterval: 0 });
    const table = await connection.createTable('tnt_conflict', firstRow());
    const create: CreateIndex = table.createIndex.bind(table);
    let attempts = 0;
    table.createIndex = async (column, options) => {
      attempts += 1;
      if (attempts === 1) await before(async () => create(column, options), table);
      await create(column, options);
    };
    await ensureTextIndex(table);
    expect((await table.listIndices()).map(({ columns }) => columns)).toEqual([['text']]);
    return attempts;
  }

  test('although another process has just committed to the table', async () => {
    const attempts = await madeDespite('conflict', async (create, table) => {
      await create('text');
      await table.dropIndex('text_idx');
      throw new Error('Commit conflict for version 2');
    });
    expect(attempts).toBe(2);
  });

  test('although another process has just made it', async () => {
    const attempts = await madeDespite('present', async (_create, table) => {
      const other = await connect(join(folder, 'present'));
      await ensureTextIndex(await other.openTable(table.name));
    });
    expect(attempts).toBe(1);
  });
});

test('two processes write into one bucket and compact it: no row is lost, and few fragments are left', async () => {
  const s3 = await startS3('index', { conditionalWrites: true });
  const location = JSON.stringify({
    bucket: s3.bucket,
    prefix: 'index',
    endpoint: s3.endpoint,
    region: 'us-east-1',
  });
  const run = async (writer: string, rows: number) => {
    const args = ['dist/test/support/index-writer.js', uri, location, 'tnt_shared', writer, String(rows)];
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      env: { ...process.env, ...S3_ENVIRONMENT },
    });
    return JSON.parse(stdout) as { rows: string[]; fragments: number };
  };
  const ROWS = 12;
  await Promise.all([run('a', ROWS), run('b', ROWS)]);
  const { rows, fragments } = await run('c', 0);
  const written = ['a', 'b'].flatMap((writer) => Array.from({ length: ROWS }, (_, n) => `${writer}-${n + 1}:0`));
  expect(rows).toEqual(written.sort());
  expect(fragments).toBeLessThan(ROWS / 2);
  expect(await collections.compactionLeases.countDocuments({ _id: 'tnt_shared' })).toBe(0);
  await s3.close();
});
