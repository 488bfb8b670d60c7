import type { Client } from '@temporalio/client';
import { startBareDrain } from '../support/bare-drain.js';
import { createCompletions } from '../support/completions.js';
import type { BenchInstance } from '../support/instance.js';
import type { CountingReceiver } from '../support/receiver.js';
import { DELIVERY_LIMITS, type Figure } from '../support/results.js';
import { measureUnits, type Units } from '../support/units.js';

const GROUP = 50;
const BARE = 'MongoDB and HTTP alone';
const NAMES = {
  backlog: 'a backlog, drained',
  grouped: `completions, ${GROUP} in a transaction`,
  single: 'completions, one each',
} as const;

/**
 * Measures first attempts at the receiver, from the commit that makes the first delivery due to the last request: with
 * MongoDB and an HTTP client alone, as a measure of the machine, and by the product.
 * @returns the figures by heading
 */
export async function measureDeliveries(
  instance: BenchInstance,
  temporal: Client,
  receiver: CountingReceiver,
  bare: number,
  scale: number,
): Promise<Record<string, Figure[]>> {
  const completions = createCompletions(instance, temporal);
  const count = (full: number) => Math.max(1, Math.round((full * scale) / GROUP)) * GROUP;

  /** @param begin resolves when the measurement begins */
  async function measure(size: number, work: () => Promise<unknown>, begin?: () => Promise<void>): Promise<Units> {
    const target = receiver.count() + size;
    await begin?.();
    return measureUnits(instance, size, async () => {
      await work();
      await receiver.reached(target);
    });
  }

  const warm = receiver.count() + 240;
  await completions.many('followed', 40, 1);
  await completions.many('product', 200, GROUP);
  await receiver.reached(warm);

  const sizes = { own: count(400), backlog: count(10_000), grouped: count(4_000), single: count(2_000) };
  const workflows = await measure(sizes.own, () => completions.many('followed', sizes.own, 1));

  const drain = await startBareDrain(instance, receiver);
  const limits = {
    backlog: await drain.backlog(sizes.backlog),
    grouped: await drain.completions(sizes.grouped, GROUP),
    single: await drain.completions(sizes.single, 1),
  };
  await drain.close();

  await completions.backlog(sizes.backlog);
  const unfollowed = {
    backlog: await measure(
      sizes.backlog,
      async () => undefined,
      () => completions.backlogDue(),
    ),
    grouped: await measure(sizes.grouped, () => completions.many('product', sizes.grouped, GROUP)),
    single: await measure(sizes.single, () => completions.each(sizes.single)),
  };
  const kinds = ['backlog', 'grouped', 'single'] as const;
  return {
    [DELIVERY_LIMITS]: kinds.map((kind) => figure(NAMES[kind], limits[kind])),
    Deliveries: [
      figure('a workflow each', workflows, { to: 'bare workflows', perSecond: bare }),
      ...kinds.map((kind) => figure(NAMES[kind], unfollowed[kind], { to: BARE, perSecond: limits[kind].perSecond })),
    ],
  };
}

function figure(name: string, { perSecond, cpu }: Units, limit?: { to: string; perSecond: number }): Figure {
  const ratio = limit && { to: limit.to, value: perSecond / limit.perSecond };
  return { name, value: perSecond, unit: 'a second', cpu, ...(ratio ? { ratio } : {}) };
}
