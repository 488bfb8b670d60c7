import { setTimeout as wait } from 'node:timers/promises';
import { UNFINISHED_INDEXING_STATUSES } from '../domain/content/states.js';
import { connectTemporal } from '../temporal/connection.js';
import { call } from './support/api-client.js';
import { createCompletions } from './support/completions.js';
import { startBenchInstance } from './support/instance.js';
import { startCountingReceiver } from './support/receiver.js';
import { type Figure, printFigures, sum, writeResult } from './support/results.js';
import { measureUnits, type Units } from './support/units.js';
import { createDatabase, ingest, noteText } from './support/work.js';

const DELIVERIES = 20_000;
const ITEMS = 5_000;
const TENTHS = 10;
const GROUP = 50;
/** Deliveries and items before the first tenth, so that it does not pay for the start. */
const WARM_UP = 100;
/** What a unit of the last tenth may cost, as a share of one of the first. */
const AIM = 1.2;

/**
 * Measures whether a unit of work costs the same when the instance holds much: deliveries and items in ten equal parts.
 * @param scale of the number of units, such as 0.1 for a short run
 */
export async function age(scale = '1'): Promise<void> {
  const instance = await startBenchInstance();
  const temporal = await connectTemporal(instance.temporalAddress, 'default');
  const receiver = await startCountingReceiver();
  const completions = createCompletions(instance, temporal);
  const part = (all: number) => Math.max(1, Math.round((all * Number(scale)) / TENTHS / GROUP)) * GROUP;
  const groups: Record<string, Figure[]> = {};

  async function measure(title: string, size: number, work: (size: number, from: number) => Promise<void>) {
    await work(WARM_UP, -WARM_UP);
    const tenths: Units[] = [];
    for (let n = 0; n < TENTHS; n += 1) {
      tenths.push(await measureUnits(instance, size, () => work(size, n * size)));
      process.stderr.write(`  ${title}: ${n + 1} of ${TENTHS}\n`);
    }
    groups[title] = figuresOf(tenths, size);
    printFigures(title, groups[title]);
  }

  try {
    await call(instance, 'POST', '/webhooks/indexing', { url: receiver.url, generate_signing_secret: true });
    await measure('Deliveries', part(DELIVERIES), async (size) => {
      const target = receiver.count() + size;
      await completions.many('product', size, GROUP);
      await receiver.reached(target);
    });
    await call(instance, 'DELETE', '/webhooks/indexing');
    await createDatabase(instance, 'age');
    const { org, _id: database_id } = (await instance.collections.databases.findOne({ name: 'age' }))!;
    const mine = { org, database_id };
    await measure('Items (notes of five words)', part(ITEMS), async (size, from) => {
      const notes = Array.from({ length: size }, (_, n) => ({
        id: `note-${from + n}`,
        text: noteText(Math.abs(from + n)),
      }));
      await ingest(instance, 'age', 'memories', notes);
      // By an index, because a look through all items would itself cost more with each tenth.
      const left = { ...mine, indexing_status: { $in: UNFINISHED_INDEXING_STATUSES } };
      while (await instance.collections.items.findOne(left, { projection: { _id: 1 } })) await wait(20);
      const errored = await instance.collections.items.countDocuments({ ...mine, indexing_status: 'errored' });
      if (errored > 0) throw new Error(`${errored} notes were not indexed`);
    });
    writeResult('age', scale, groups);
  } finally {
    await receiver.close();
    await temporal.connection.close();
    await instance.stop();
  }
}

function figuresOf(tenths: readonly Units[], size: number): Figure[] {
  const figures: Figure[] = tenths.map(({ perSecond, cpu }, n) => ({
    name: `${n * size + 1} to ${(n + 1) * size}`,
    value: perSecond,
    unit: 'a second',
    cpu,
  }));
  const [first, last] = [tenths[0]!, tenths.at(-1)!];
  const cost = sum(last.cpu) / sum(first.cpu);
  return [
    ...figures,
    {
      name: `processor time of the last tenth (aim: at most ${AIM} of the first: ${cost <= AIM ? 'reached' : 'missed'})`,
      value: sum(last.cpu),
      unit: 'ms each',
      ratio: { to: 'the first tenth', value: cost },
    },
  ];
}
