import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createIngestGroups, type IngestGroups } from '../../api/content/ingest-groups.js';
import { queuedItem } from '../../storage/content/item-queue.js';
import type { ItemRecord } from '../../storage/content/items.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { StartItemInput } from '../../temporal/content/starters.js';
import type { Client } from '../support/client.js';
import { eventually } from '../support/eventually.js';
import { listedWorkflows } from '../support/listed-workflows.js';
import { clientOf, registeredReceiver } from '../support/organisation.js';
import { sharedProduct } from '../support/product.js';
import type { Receiver } from '../support/receiver.js';

const LIMIT = 3;

const note = (id: string, changes: Partial<ItemRecord> = {}): ItemRecord => {
  const place = { org: 'acme', database_id: 'tnt_notes', database: 'notes', collection: 'default', batch: 'bat_own' };
  const content = { type: 'memory' as const, title: null, metadata: {}, additional_metadata: {}, content_hash: id };
  const source = { kind: 'text' as const, text: `Text of ${id}.` };
  return { ...queuedItem({ ...place, ...content, id, source }, undefined, new Date()), ...changes };
};

describe('requests of one small text', () => {
  let now: number;
  let started: { batch: string; ids: string[] }[];
  let groups: IngestGroups;

  beforeEach(() => {
    now = 0;
    started = [];
    const startIngest = async ({ batch }: { batch: string }, items: readonly StartItemInput[]) => {
      started.push({ batch, ids: items.map(({ id }) => id) });
    };
    const log = { warn: () => undefined };
    groups = createIngestGroups({ starters: { startIngest }, log, perSecond: LIMIT, clock: () => now });
  });

  /** Sends one request after another, each of which is accepted at once. @returns whether each is in a group */
  const sendInTurn = (items: ItemRecord[]) =>
    items.map((item) => {
      const { group, settle } = groups.join(item);
      settle(item);
      return group !== null;
    });
  const notes = (count: number, changes: Partial<ItemRecord> = {}) =>
    Array.from({ length: count }, (_, n) => note(`note-${n}`, changes));
  const joinAll = (items: ItemRecord[]) =>
    items.map((item) => {
      const { group, settle } = groups.join(item);
      return { batch: group?.batch, settle };
    });
  /** Uses up what a collection may have in this second without groups. */
  const fillSecond = (changes: Partial<ItemRecord> = {}) =>
    expect(sendInTurn(notes(LIMIT, changes))).toEqual(Array(LIMIT).fill(false));

  test('have their own workflows at a low rate', () => {
    for (const item of notes(10 * LIMIT)) {
      now += 1_200 / LIMIT;
      expect(sendInTurn([item])).toEqual([false]);
    }
  });

  test('share a workflow at a high rate, which starts when each has been accepted or rejected', async () => {
    fillSecond();
    const items = ['a', 'b', 'c'].map((id) => note(id));
    const [a, b, c] = joinAll(items);
    expect([b!.batch, c!.batch]).toEqual([a!.batch, a!.batch]);
    a!.settle(items[0]!);
    b!.settle(null);
    const closed = groups.close();
    expect(started).toEqual([]);
    c!.settle(items[2]!);
    await closed;
    expect(started).toEqual([{ batch: a!.batch, ids: ['a', 'c'] }]);
  });

  test('share a workflow while many are in progress, however few arrive in a second', async () => {
    const items = notes(6);
    const places = items.map((item) => {
      now += 1_200 / LIMIT;
      return groups.join(item);
    });
    expect(places.map(({ group }) => group !== null)).toEqual([false, false, false, false, true, true]);
    for (const [n, { settle }] of places.entries()) settle(items[n]!);
    now += 1_200 / LIMIT;
    expect(sendInTurn([note('later')])).toEqual([false]);
    await groups.close();
    expect(started.map(({ ids }) => ids)).toEqual([['note-4', 'note-5']]);
  });

  test('start no workflow when all are rejected', async () => {
    fillSecond();
    for (const place of joinAll([note('a'), note('b')])) place.settle(null);
    await groups.close();
    expect(started).toEqual([]);
  });

  test('are in another group when the group has a version of the same item, or is full', () => {
    fillSecond();
    const [first, again] = joinAll([note('same'), note('same')]);
    expect(again!.batch).not.toBe(first!.batch);
    const places = joinAll(notes(40));
    expect(places.filter(({ batch }) => batch === again!.batch)).toHaveLength(31);
    expect(new Set(places.map(({ batch }) => batch)).size).toBe(2);
  });

  test('are in groups of one collection', () => {
    fillSecond();
    fillSecond({ collection: 'other' });
    fillSecond({ database_id: 'tnt_other' });
    const [one, second] = joinAll([note('c'), note('d', { database_id: 'tnt_other' })]);
    expect([one!.batch, second!.batch]).toEqual([expect.any(String), expect.any(String)]);
    expect(one!.batch).not.toBe(second!.batch);
  });

  test('have their own workflows when they are long, or files, or when the process stops', async () => {
    fillSecond();
    const source = { kind: 'file', file_kind: 'text' } as ItemRecord['source'];
    const [long, file, small] = [note('long', { bytes: 20_000 }), note('file', { source }), note('small')];
    expect(sendInTurn([long, file, small])).toEqual([false, false, true]);
    await groups.close();
    expect(sendInTurn([note('late')])).toEqual([false]);
  });
});

describe('many requests of one small text', () => {
  const { temporalAddress } = sharedProduct();
  const org = 'many-requests';
  let api: Client;
  let receiver: Receiver;

  beforeAll(async () => {
    api = await clientOf(org);
    receiver = await registeredReceiver(api);
    await api.createDatabase('inbox');
  });
  afterAll(() => receiver.close());

  const send = (id: string, text: string) =>
    api.ingest({ database: 'inbox', upsert: 'true', memories: JSON.stringify([{ id, text }]) });

  test('complete, are announced, and are found in Temporal by their ids', async () => {
    const ids = Array.from({ length: 60 }, (_, n) => `note-${n}`);
    const responses = await Promise.all(ids.map((id) => send(id, `Text of ${id}.`)));
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([202]));
    await eventually('a webhook of each', () => {
      const announced = new Set(receiver.received.map(({ json }) => json.id));
      return ids.every((id) => announced.has(id));
    });
    const list = await api.get('/context/list?database=inbox&limit=100');
    expect(list.body.data.items).toHaveLength(60);
    const temporal = await connectTemporal(temporalAddress, 'default');
    const found = await listedWorkflows(temporal, `PostbackOrganisation="${org}" AND PostbackSource="note-59"`);
    expect(found.length).toBeGreaterThan(0);
    await temporal.connection.close();
  });

  test('of the same id serve one of the versions that were sent last', async () => {
    const texts = Array.from({ length: 30 }, (_, n) => `Version ${n} of the log.`);
    await Promise.all(texts.map((text) => send('log', text)));
    await eventually('a served version', async () => {
      const { indexing_status } = await api.status('inbox', 'log');
      return indexing_status === 'completed';
    });
    const served = await api.get('/context/log?database=inbox');
    expect(texts).toContain(served.body.data.chunks[0].text);
    const found = await api.post('/query', { database: 'inbox', query: 'version of the log', ids: ['log'] });
    expect(found.body.data.chunks.map(({ text }: { text: string }) => text)).toEqual([served.body.data.chunks[0].text]);
  });
});
