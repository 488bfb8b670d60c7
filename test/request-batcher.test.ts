import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { createRequestBatcher, type RequestBatcher } from '../api/request-batcher.js';
import { connectTemporal } from '../temporal/connection.js';
import { clientDuringTests, receiverDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { listedWorkflows } from './support/listed-workflows.js';
import { sharedProduct } from './support/product.js';

const LIMIT = 3;

interface Work {
  id: string;
  bytes: number;
}
const work = (id: string, bytes = 20): Work => ({ id, bytes });
const works = (count: number): Work[] => Array.from({ length: count }, (_, n) => work(`work-${n}`));

describe('small work that arrives in many requests', () => {
  let now: number;
  let started: { group: string; ids: string[] }[];
  let batcher: RequestBatcher<Work>;

  beforeEach(() => {
    now = 0;
    started = [];
    let ids = 0;
    batcher = createRequestBatcher({
      newId: () => `group-${++ids}`,
      start: async (group, members: Work[]) => {
        started.push({ group, ids: members.map(({ id }) => id) });
      },
      perSecond: LIMIT,
      clock: () => now,
    });
  });

  // A group that still waits would start during the next test.
  afterEach(() => batcher.close());

  /** Sends one request after another, each of which is accepted at once. @returns the group of each */
  const sendInTurn = (sent: Work[], key = 'notes') =>
    sent.map((one) => {
      const { group, settle } = batcher.add(key, one);
      settle(one);
      return group;
    });
  /** Uses up what a key may have in this second without groups. */
  const fillSecond = (key?: string) => expect(sendInTurn(works(LIMIT), key)).toEqual(Array(LIMIT).fill(null));

  test('has its own workflows at a low rate', () => {
    for (const one of works(10 * LIMIT)) {
      now += 1_200 / LIMIT;
      expect(sendInTurn([one])).toEqual([null]);
    }
  });

  test('shares a workflow at a high rate, which starts when each request has been accepted or rejected', async () => {
    fillSecond();
    const sent = [work('a'), work('b'), work('c')];
    const requests = sent.map((one) => batcher.add('notes', one));
    expect(requests.map(({ group }) => group)).toEqual(['group-1', 'group-1', 'group-1']);
    requests[0]!.settle(sent[0]!);
    requests[1]!.settle(null);
    const closed = batcher.close();
    expect(started).toEqual([]);
    requests[2]!.settle(sent[2]!);
    await closed;
    expect(started).toEqual([{ group: 'group-1', ids: ['a', 'c'] }]);
  });

  test('shares a workflow while many requests are in progress, however few arrive in a second', async () => {
    const sent = works(6);
    const requests = sent.map((one) => {
      now += 1_200 / LIMIT;
      return batcher.add('notes', one);
    });
    expect(requests.map(({ group }) => group)).toEqual([null, null, null, null, 'group-1', 'group-1']);
    for (const [n, { settle }] of requests.entries()) settle(sent[n]!);
    now += 1_200 / LIMIT;
    expect(sendInTurn([work('later')])).toEqual([null]);
    await batcher.close();
    expect(started.map(({ ids }) => ids)).toEqual([['work-4', 'work-5']]);
  });

  test('does not wait for a request whose commit hangs, which is started when it is accepted', async () => {
    fillSecond();
    const [hung, other] = [work('hung'), work('other')];
    const requests = [hung, other].map((one) => batcher.add('notes', one));
    requests[1]!.settle(other);
    await eventually('the start of the other', () => started.length === 1);
    requests[0]!.settle(hung);
    await batcher.close();
    expect(started).toEqual([
      { group: 'group-1', ids: ['other'] },
      { group: 'group-1', ids: ['hung'] },
    ]);
  });

  test('starts no workflow when all requests are rejected', async () => {
    fillSecond();
    for (const one of works(2)) batcher.add('notes', one).settle(null);
    await batcher.close();
    expect(started).toEqual([]);
  });

  test('is in another group when the group has work of the same id, or is full', () => {
    fillSecond();
    expect(sendInTurn([work('same'), work('same')])).toEqual(['group-1', 'group-2']);
    expect(sendInTurn(works(70))).toEqual([...Array(63).fill('group-2'), ...Array(7).fill('group-3')]);
    expect(sendInTurn([work('long', 20_000), work('longer', 20_000)])).toEqual(['group-3', 'group-4']);
  });

  test('shares workflows only with work of the same key', () => {
    fillSecond();
    fillSecond('others');
    expect(sendInTurn([work('a')])).toEqual(['group-1']);
    expect(sendInTurn([work('b')], 'others')).toEqual(['group-2']);
  });

  test('waits while the group before it is being started', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow = createRequestBatcher({
      newId: () => `group-${started.length + 1}`,
      async start(group, members: Work[]) {
        started.push({ group, ids: members.map(({ id }) => id) });
        await held;
      },
      perSecond: 1,
      waitMs: 1,
      clock: () => now,
    });
    const send = (id: string) => {
      const { group, settle } = slow.add('notes', work(id));
      settle(work(id));
      return group;
    };
    expect(send('alone')).toBeNull();
    expect(send('a')).toBe('group-1');
    await eventually('the start of the first group', () => started.length === 1);
    expect(send('b')).toBe('group-2');
    // Longer than a group waits for more.
    await new Promise((resume) => setTimeout(resume, 20));
    expect(send('c')).toBe('group-2');
    release();
    await eventually('the start of the second group', () => started.length === 2);
    expect(started.map(({ ids }) => ids)).toEqual([['a'], ['b', 'c']]);
    await slow.close();
  });

  test('has its own workflow when it is large, or when the process stops', async () => {
    fillSecond();
    expect(batcher.add('notes', null).group).toBeNull();
    expect(sendInTurn([work('small')])).toEqual(['group-1']);
    await batcher.close();
    expect(sendInTurn([work('late')])).toEqual([null]);
  });
});

describe('many requests of one small item', () => {
  const { temporalAddress } = sharedProduct();
  const org = 'many-requests';
  const api = clientDuringTests(org);
  const receiver = receiverDuringTests(api);
  beforeAll(() => api.createDatabase('inbox'));

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
