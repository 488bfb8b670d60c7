import type { Client } from '@temporalio/client';
import { createCompletions } from '../support/completions.js';
import type { BenchInstance } from '../support/instance.js';
import type { CountingReceiver } from '../support/receiver.js';
import type { Figure } from '../support/results.js';
import { measureUnits } from '../support/units.js';

const GROUP = 50;

/** Measures first attempts at the receiver, from the commit that makes the first delivery due to the last request. */
export async function measureDeliveries(
  instance: BenchInstance,
  temporal: Client,
  receiver: CountingReceiver,
  bare: number,
  scale: number,
): Promise<Figure[]> {
  const completions = createCompletions(instance, temporal);
  const figures: Figure[] = [];
  const count = (full: number) => Math.max(1, Math.round((full * scale) / GROUP)) * GROUP;

  async function measure(name: string, size: number, work: () => Promise<unknown>, ratio = false): Promise<void> {
    const target = receiver.count() + size;
    const { perSecond, cpu } = await measureUnits(instance, size, async () => {
      await work();
      await receiver.reached(target);
    });
    const toBare = ratio ? { ratio: { to: 'bare workflows', value: perSecond / bare } } : {};
    figures.push({ name, value: perSecond, unit: 'a second', cpu, ...toBare });
  }

  const warm = receiver.count() + 240;
  await completions.many('own', 40, 1);
  await completions.many('lanes', 200, GROUP);
  await receiver.reached(warm);

  const [own, backlog, grouped, single] = [count(400), count(10_000), count(4_000), count(2_000)];
  await measure('a workflow each', own, () => completions.many('own', own, 1), true);
  await completions.backlog(backlog);
  await measure('a backlog, drained', backlog, () => completions.startLane());
  await measure(`completions, ${GROUP} in a transaction`, grouped, () => completions.many('lanes', grouped, GROUP));
  await measure('completions, one each', single, () => completions.each(single));
  return figures;
}
