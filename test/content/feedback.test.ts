import { beforeAll, describe, expect, test } from '@jest/globals';
import { clientDuringTests } from '../support/during-tests.js';

describe('feedback', () => {
  const NOTES = Array.from({ length: 12 }, (_, n) => ({ id: `note-${n}`, text: `lantern ${'filler '.repeat(n)}` }));
  const api = clientDuringTests('feedback');
  const other = clientDuringTests('feedback-stranger');
  beforeAll(async () => {
    await api.createDatabase('notes');
    await api.ingest({ database: 'notes', memories: JSON.stringify(NOTES) });
    for (const { id } of NOTES) expect(await api.ended('notes', id)).toMatchObject({ indexing_status: 'completed' });
  });

  const rate = (feedback: object) => api.post('/feedback', { database: 'notes', ...feedback });
  const scored = async (): Promise<{ id: string; score: number }[]> => {
    const { body } = await api.post('/query', {
      database: 'notes',
      query: 'lantern',
      // BM25 scores change when the index merges new rows; cosine similarity does not.
      query_by: 'vector',
      max_results: 12,
    });
    return body.data.chunks.map((chunk: { source_id: string; score: number }) => ({
      id: chunk.source_id,
      score: chunk.score,
    }));
  };
  const ranked = async () => (await scored()).map(({ id }) => id);
  const list = async (filters = '') => (await api.get(`/feedback?database=notes${filters}`)).body.data;

  test('ratings move a source within bounds, whatever their number', async () => {
    const before = await scored();
    expect(before).toHaveLength(12);
    const first = before[0]!.id;
    const rateOften = (id: string, rating: number) =>
      Promise.all(Array.from({ length: 60 }, (_, n) => rate({ source_id: id, query: `question ${n}`, rating })));
    await rateOften(first, -1);
    // Almost six places down: between the sixth and the seventh, and after both when the seventh has the same score.
    const after = await scored();
    const place = after.findIndex(({ id }) => id === first);
    expect(place).toBe(5);
    expect(after[place]!.score).toBeLessThanOrEqual(before[5]!.score);
    expect(after[place]!.score).toBeGreaterThanOrEqual(before[6]!.score);
    expect(after.filter(({ id }) => id !== first)).toEqual(before.slice(1));

    const tenth = after[9]!.id;
    await rateOften(tenth, 1);
    const lifted = await scored();
    // Almost six places up, and another because the first hit is behind it now.
    expect(lifted.findIndex(({ id }) => id === tenth)).toBe(3);
    for (const { score } of lifted) expect(score >= 0 && score <= 1).toBe(true);

    await rateOften(first, 1);
    expect((await ranked())[0]).toBe(first);
  });

  test('repeated ratings by one key count once', async () => {
    const last = (await ranked()).at(-1)!;
    const { data } = (await api.post('/query', { database: 'notes', query: 'lantern', ids: [last] })).body;
    const feedback = { chunk_id: data.chunks[0].chunk_id, query: 'lantern', rating: 1 };
    const responses = await Promise.all(Array.from({ length: 30 }, () => rate(feedback)));
    for (const response of responses) expect([response.status, response.body.error]).toEqual([201, null]);
    // One rating moves a source by one place.
    expect((await ranked()).indexOf(last)).toBe(10);
    expect((await list(`&source_id=${last}&limit=100`)).count).toBe(30);
  });

  test('is listed newest first, in pages and filtered', async () => {
    const { body } = await rate({ source_id: 'note-5', rating: 0.5, comment: "it's fine" });
    const { feedback } = await list('&source_id=note-5&min_rating=0.4&max_rating=0.6');
    expect(feedback).toEqual([
      {
        id: body.data.id,
        database: 'notes',
        query: null,
        collection: 'default',
        source_id: 'note-5',
        chunk_id: null,
        rating: 0.5,
        comment: "it's fine",
        created_at: expect.any(String),
      },
    ]);
    await rate({ query: 'results as a whole', rating: 0.25 });
    await rate({ query: 'another', rating: 0.25 });
    const page = await list('&min_rating=0.25&max_rating=0.25&limit=1');
    expect(page.feedback[0].query).toBe('another');
    const next = await list(`&min_rating=0.25&max_rating=0.25&limit=1&cursor=${page.next_cursor}`);
    expect([next.feedback[0].query, next.next_cursor]).toEqual(['results as a whole', null]);
    expect((await api.get('/feedback?database=notes&cursor=invalid')).status).toBe(400);
  });

  test('a repeated request with an Idempotency-Key is not counted again', async () => {
    const send = () =>
      api.request('POST', '/feedback', {
        json: { database: 'notes', query: 'sent twice', rating: -0.75 },
        headers: { 'Idempotency-Key': 'feedback-1' },
      });
    const [first, again] = [await send(), await send()];
    expect([first.status, again.status, again.body.data]).toEqual([201, 201, first.body.data]);
    expect((await list('&max_rating=-0.75&min_rating=-0.75')).count).toBe(1);
  });

  test.each<[object, number]>([
    [{ source_id: 'note-1', rating: 1.1 }, 422],
    [{ source_id: 'note-1', rating: -1.1 }, 422],
    [{ source_id: 'note-1', rating: '1' }, 422],
    [{ source_id: 'note-1' }, 400],
    [{ rating: 0 }, 201],
    [{ source_id: 'unknown', rating: 1 }, 404],
    [{ chunk_id: 'chk_unknown_1_0', rating: 1 }, 404],
  ])('%j gets %i', async (feedback, status) => {
    expect((await rate(feedback)).status).toBe(status);
  });

  test('a rated chunk identifies its source; a different source_id is rejected', async () => {
    const { data } = (await api.post('/query', { database: 'notes', query: 'lantern', ids: ['note-3'] })).body;
    const { chunk_id } = data.chunks[0];
    await rate({ chunk_id, rating: 0 });
    expect((await list('&source_id=note-3&max_rating=0&min_rating=0')).feedback[0]).toMatchObject({ chunk_id });
    expect((await rate({ chunk_id, source_id: 'note-4', rating: 0 })).status).toBe(422);
  });

  test('databases, chunks and feedback of another organisation are not found', async () => {
    const { data } = (await api.post('/query', { database: 'notes', query: 'lantern', ids: ['note-3'] })).body;
    expect((await other.get('/feedback?database=notes')).status).toBe(404);
    await other.createDatabase('notes');
    const feedback = { database: 'notes', chunk_id: data.chunks[0].chunk_id, rating: 1 };
    expect((await other.post('/feedback', feedback)).status).toBe(404);
    expect((await other.get('/feedback?database=notes')).body.data.feedback).toEqual([]);
  });
});
