import { beforeEach, describe, expect, test } from '@jest/globals';
import { createDueDeliveries } from '../../activities/webhooks/due-deliveries.js';
import { newDeliveryId } from '../../domain/ids.js';
import { createDeliveryQueue } from '../../storage/webhooks/delivery-queue.js';
import { collectionsDuringTests } from '../support/during-tests.js';
import { databaseBeside, sharedProduct } from '../support/product.js';
import { deliveryRecord } from '../support/records.js';

const RECEIVER = 'acme';

describe('deliveries that are due, read ahead', () => {
  const collections = collectionsDuringTests(databaseBeside(sharedProduct().mongodbUri, 'due'));
  const queries: string[] = [];
  const now = new Date();
  beforeEach(async () => {
    queries.length = 0;
    await collections.deliveries.deleteMany({});
  });

  /** A reader at a time that stands still, which notes its queries. */
  function createReader(random = () => 0) {
    const { heads, listDue, read } = createDeliveryQueue(collections);
    return createDueDeliveries(
      {
        heads: (...query) => heads(...query).finally(() => queries.push('heads')),
        listDue: (...query) => listDue(...query).finally(() => queries.push('listDue')),
        read,
      },
      () => 0,
      random,
    );
  }

  /** @returns ids in the order in which they are due */
  async function add(count: number): Promise<string[]> {
    const records = Array.from({ length: count }, (_, n) => {
      const record = deliveryRecord({ _id: newDeliveryId(new Date()), org: RECEIVER, now, has_workflow: false });
      return { ...record, next_attempt_at: new Date(now.getTime() - count + n) };
    });
    await collections.deliveries.insertMany(records);
    return records.map(({ _id }) => _id);
  }

  test('serve several claims with one query', async () => {
    await add(45);
    const reader = createReader();
    const takeTen = async () => {
      expect(await reader.heads(now)).toMatchObject([{ receiver: RECEIVER }]);
      return reader.take(RECEIVER, 10, now);
    };
    const claims = [await takeTen(), await takeTen(), await takeTen(), await takeTen()];
    const ids = claims.flatMap(({ taken }) => taken.map(({ _id }) => _id));
    expect(new Set(ids).size).toBe(40);
    expect(claims.every(({ more }) => more)).toBe(true);
    expect(queries).toEqual(['heads', 'listDue']);
    await collections.deliveries.deleteMany({ _id: { $in: ids } });
    expect(await takeTen()).toMatchObject({ taken: { length: 5 }, more: false });
    expect(queries).toEqual(['heads', 'listDue', 'heads', 'listDue']);
  });

  test('begin somewhere else while another process claims from the same receiver', async () => {
    const ids = await add(30);
    const reader = createReader(() => 0.02);
    expect((await reader.take(RECEIVER, 10, now)).taken.map(({ _id }) => _id)).toEqual(ids.slice(0, 10));
    reader.forget();
    const { taken, more } = await reader.take(RECEIVER, 10, now);
    expect(taken.map(({ _id }) => _id)).toEqual(ids.slice(20));
    expect(more).toBe(true);
    await collections.deliveries.deleteMany({ _id: { $in: ids.slice(15) } });
    reader.forget();
    // So few are left that nothing is there.
    expect(await reader.take(RECEIVER, 20, now)).toMatchObject({ taken: { length: 15 }, more: false });
  });
});
