import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { ASSUMED, needOf, renderScaling, withScaling } from '../../bench/page/scaling.js';
import { readResults } from '../../bench/support/results.js';

describe('docs/scaling.md', () => {
  const page = readFileSync('docs/scaling.md', 'utf8');

  test('has the tables that follow from the stored results', () => {
    expect(withScaling(page, renderScaling(readResults()))).toBe(page);
  });

  test('states what is assumed, with the day of the prices', () => {
    const { priced, busy, coreHour, diskGbMonth, zoneGb, internetGb, deliveryBytes, itemOnDisk } = ASSUMED;
    const stated = [priced, `${busy * 100} %`, deliveryBytes.toLocaleString('en'), `${itemOnDisk * 100} %`];
    const prices = [coreHour, diskGbMonth, zoneGb, internetGb].map((price) => `$${price}`);
    for (const text of [...stated, ...prices]) expect(page).toContain(text);
  });
});

test('a rate needs its cores, disks and network, and their price', () => {
  const unit = { cpu: { worker: 6, mongod: 2 }, oplog: 1_000, stored: 100, indexed: 0, sent: 500 };
  const { cores, provided, memoryGb, diskGb, zoneMb, internetMb, dollars } = needOf(unit, 1_000);
  // Three members of MongoDB do the same work.
  expect(cores).toEqual({ worker: 6, mongod: 6 });
  expect([provided, memoryGb]).toEqual([20, 80]);
  // 30 days of 86,400 seconds with 1,000 records of 100 bytes, three times.
  expect(diskGb).toBeCloseTo(777.6);
  // To two members.
  expect([zoneMb, internetMb]).toEqual([2, 0.5]);
  expect(dollars.cores).toBeCloseTo(20 * 0.05 * 730);
  expect(dollars.disks).toBeCloseTo(777.6 * 0.08);
  // 730 hours: 5,256 GB between the hosts and 1,314 GB to receivers.
  expect(dollars.network).toBeCloseTo(5_256 * 0.02 + 1_314 * 0.05);
});
