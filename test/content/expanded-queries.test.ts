import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../support/client.js';
import { clientOf } from '../support/organisation.js';

const TOPICS = ['harbour', 'lighthouse', 'ferry', 'railway', 'museum', 'garden'];
/** A chunk for each topic. */
const GUIDE = TOPICS.map((topic) => {
  const sentences = Array.from(
    { length: 12 },
    (_, n) => `The ${topic} has a detail that number ${n} of this list describes in some words.`,
  );
  return `# About the ${topic}\n\n${sentences.join(' ')}`;
}).join('\n\n');

interface Hit {
  chunk_id: string;
  chunk_ids?: string[];
  hits?: [number, number][];
  highlights: [number, number][];
  text: string;
  truncated?: boolean;
  location: { headings: string[] };
}

describe('a query', () => {
  let api: Client;
  beforeAll(async () => {
    api = await clientOf('expanded');
    await api.createDatabase('guide');
    const metadata = JSON.stringify([{ id: 'guide' }]);
    await api.ingest({ database: 'guide', document_metadata: metadata }, [{ name: 'guide.md', content: GUIDE }]);
    expect(await api.ended('guide', 'guide')).toMatchObject({ indexing_status: 'completed' });
  });
  const query = async (body: Record<string, unknown>) =>
    (await api.post('/query', { database: 'guide', query: 'ferry', query_by: 'text', ...body })).body.data as {
      chunks: Hit[];
      graph: { entities: { chunk_ids: string[] }[] };
    };

  test('returns the chunks around a hit in one text', async () => {
    const [alone] = (await query({})).chunks;
    expect(alone).toMatchObject({ location: { headings: ['About the ferry'] } });
    expect(alone).not.toHaveProperty('chunk_ids');
    const { chunks } = await query({ expand: 1 });
    expect(chunks).toHaveLength(1);
    const [hit] = chunks;
    expect(hit!.chunk_ids).toHaveLength(3);
    expect(hit!.chunk_ids![1]).toBe(alone!.chunk_id);
    expect(hit!.text).toMatch(
      /^The lighthouse .*\n\nAbout the ferry\n\nThe ferry .*\n\nAbout the railway\n\nThe railway/s,
    );
    expect(hit!.hits!.map(([start, end]) => hit!.text.slice(start, end))).toEqual([alone!.text]);
    expect((await query({ expand: 2 })).chunks[0]!.chunk_ids).toHaveLength(5);
  });

  test('merges hits whose neighbours meet, in the place of the best', async () => {
    const { chunks } = await query({ query: 'ferry museum museum', expand: 1 });
    expect(chunks).toHaveLength(1);
    expect(chunks[0]!.chunk_ids).toHaveLength(5);
    expect(chunks[0]!.location.headings).toEqual([expect.stringMatching(/museum|ferry/)]);
    expect(chunks[0]!.hits).toHaveLength(2);
    expect((await query({ query: 'lighthouse garden', expand: 1 })).chunks).toHaveLength(2);
  });

  test('cuts the answer to a budget of tokens', async () => {
    const { chunks } = await query({ query: 'ferry museum garden', max_tokens: 300 });
    expect(chunks.map(({ truncated = false }) => truncated)).toEqual([false, true]);
    expect(chunks.reduce((bytes, { text }) => bytes + Buffer.byteLength(text), 0)).toBeLessThanOrEqual(300 * 3.5);
  });

  test('marks the words that match, also in the neighbours', async () => {
    const [hit] = (await query({ query: 'railways and ferries', expand: 2 })).chunks;
    const words = hit!.highlights.map(([start, end]) => hit!.text.slice(start, end).toLowerCase());
    expect(new Set(words)).toEqual(new Set(['railway', 'ferry']));
  });

  test.each([
    ['expand', 3],
    ['expand', -1],
    ['expand', '1'],
    ['expand', 0.5],
    ['max_tokens', 0],
    ['max_tokens', 49],
    ['max_tokens', '100'],
    ['max_tokens', 1_000_001],
  ])('with %s: %j is rejected', async (field, value) => {
    const { status, body } = await api.post('/query', { database: 'guide', query: 'ferry', [field]: value });
    expect([status, body.error!.message]).toEqual([422, expect.stringMatching(new RegExp(`^${field}`))]);
  });
});
