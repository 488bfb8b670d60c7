import { describe, expect, test } from '@jest/globals';
import { fuse, textRelevance, type VectorHit, vectorRelevance } from '../../domain/content/fusion.js';
import { ratedPlaces, rerank } from '../../domain/content/ranking.js';
import type { SearchHit } from '../../domain/content/search.js';

const hit = (chunk_id: string, score: number): SearchHit => ({
  chunk_id,
  score,
});
const QUERY = Float32Array.of(1, 0, 0);
/** A chunk at this cosine to the query. @param side puts it on one of two opposite sides of the query */
const near = (chunk_id: string, cosine: number, side = 1): VectorHit => ({
  ...hit(chunk_id, cosine),
  vector: Float32Array.of(cosine, side * Math.sqrt(1 - cosine ** 2), 0),
});
const scores = (hits: readonly SearchHit[]) => hits.map(({ chunk_id, score }) => [chunk_id, score]);
const ids = (hits: readonly SearchHit[]) => hits.map(({ chunk_id }) => chunk_id);

describe('scores within a ranking', () => {
  test('are shares of the best BM25 score', () => {
    expect(scores(textRelevance([hit('a', 12), hit('b', 9), hit('c', 3)]))).toEqual([
      ['a', 1],
      ['b', 0.75],
      ['c', 0.25],
    ]);
  });

  test('run from 1 for the best cosine to almost 0 for the last', () => {
    const [best, last] = vectorRelevance([hit('a', 0.9), hit('b', -0.08)]);
    expect([best!.score, last!.score]).toEqual([1, expect.closeTo(0.02)]);
  });

  test('almost equal hits have almost equal scores', () => {
    expect(textRelevance([hit('a', 10), hit('b', 9.9)])[1]!.score).toBeCloseTo(0.99);
    expect(vectorRelevance([hit('a', 0.8), hit('b', 0.79)])[1]!.score).toBeCloseTo(0.95);
  });

  test.each<[string, SearchHit[]]>([
    ['no hit', []],
    ['one hit', [hit('a', 3)]],
    ['one hit with score 0', [hit('a', 0)]],
    ['one hit with a negative score', [hit('a', -0.4)]],
    ['equal hits', [hit('a', 2), hit('b', 2), hit('c', 2)]],
  ])('are 1 for %s', (_, hits) => {
    for (const relevance of [textRelevance, vectorRelevance])
      expect(relevance(hits).map(({ score }) => score)).toEqual(hits.map(() => 1));
  });

  test('are 0 for a score that is not a number', () => {
    expect(scores(vectorRelevance([hit('a', 0.5), hit('b', Number.NaN)]))).toEqual([
      ['a', 1],
      ['b', 0],
    ]);
  });
});

describe('fusion', () => {
  const words = [hit('both', 9), hit('words', 8), hit('far', 1)];
  const vectors = [near('both', 0.9), near('vector', 0.85, -1), near('far', 0.2)];

  test('ranks a chunk of both rankings first and gives scores from 0 to 1, best first', () => {
    const fused = fuse(words, vectors, QUERY);
    expect(ids(fused)).toEqual(['both', 'vector', 'words', 'far']);
    const values = fused.map(({ score }) => score);
    expect(values[0]).toBe(1);
    expect(values.at(-1)).toBeGreaterThan(0);
    expect([...values].sort((a, b) => b - a)).toEqual(values);
  });

  test('moves the query towards the first hits', () => {
    // Before, "like" and "unlike" have the same cosine to the query. "like" is on the side of the first hits.
    const twins = [
      near('first', 0.9),
      near('second', 0.89),
      near('unlike', 0.7, -1),
      near('like', 0.7),
      near('last', 0),
    ];
    const order = ids(fuse([hit('first', 5), hit('second', 4)], twins, QUERY));
    expect(order.indexOf('like')).toBeLessThan(order.indexOf('unlike'));
  });

  test('takes a chunk that the vector ranking lacks to be a little less similar than its last one', () => {
    // All three are about as similar, and "words" is the only one with the words.
    const similar = [near('a', 0.71), near('b', 0.7)];
    expect(ids(fuse([hit('words', 9), hit('b', 1)], similar, QUERY))).toEqual(['words', 'b', 'a']);
    // Here it is far less similar than the best.
    expect(ids(fuse([hit('words', 9), hit('b', 1)], [near('a', 0.9), near('b', 0.3)], QUERY))).toEqual([
      'a',
      'words',
      'b',
    ]);
  });

  test('adds the parts of a score by their shares', () => {
    for (const { score, text_score, vector_score } of fuse(words, vectors, QUERY))
      expect(score).toBeCloseTo(0.35 * text_score! + 0.65 * vector_score!);
  });

  test('keeps the other ranking when one is empty', () => {
    expect(fuse(words, [], QUERY)).toEqual(textRelevance(words));
    expect(ids(fuse([], vectors, QUERY))).toEqual(['both', 'vector', 'far']);
    expect(fuse([], vectors, QUERY)[0]!.score).toBe(1);
    expect(fuse([], [], QUERY)).toEqual([]);
  });

  test('works with rankings that have no chunk in common, negative cosines and a query without length', () => {
    const opposite = [near('x', -0.2), near('y', -0.9)];
    for (const query of [QUERY, new Float32Array(3)]) {
      const fused = fuse([hit('a', 1)], opposite, query);
      expect(ids(fused).sort()).toEqual(['a', 'x', 'y']);
      for (const { score } of fused) expect(score >= 0 && score <= 1).toBe(true);
    }
  });
});

describe('influences on the score', () => {
  const HITS = Array.from({ length: 101 }, (_, n) => hit(`h${n}`, 1 - n / 100));
  const age = ({ chunk_id }: SearchHit) => Number(chunk_id.slice(1));
  const agesOf = (hits: readonly SearchHit[]) => hits.map(age);

  const UNMOVED = { weight: 1, changed: 0, places: 0 };

  test('ratings move a hit by at most six places, and one rating by one', () => {
    for (const count of [1, 10, 1_000_000]) {
      expect(ratedPlaces({ sum: -count, count })).toBeGreaterThanOrEqual(-6);
      expect(ratedPlaces({ sum: count, count })).toBeLessThanOrEqual(6);
    }
    expect(ratedPlaces({ sum: 1, count: 1 })).toBe(1);
    expect(ratedPlaces({ sum: 0, count: 0 })).toBe(0);
  });

  test.each([
    [0, -1, 1],
    [0, -5.9, 5],
    [0, 6, 0],
    [1, 1, 0],
    [10, -5.9, 15],
    [10, 5.9, 5],
    [97, -5.9, 100],
  ])('the hit in place %i that ratings move by %f places gets to place %i', (place, places, expected) => {
    const after = rerank(HITS, (one) => ({ ...UNMOVED, places: age(one) === place ? places : 0 }));
    expect(agesOf(after).indexOf(place)).toBe(expected);
    expect(agesOf(after).filter((other) => other !== place)).toEqual(agesOf(HITS).filter((other) => other !== place));
    const values = after.map(({ score }) => score);
    expect([...values].sort((a, b) => b - a)).toEqual(values);
    expect([values[0]! <= 1, values.at(-1)! >= 0]).toEqual([true, true]);
  });

  test('ratings move a hit however far ahead it is', () => {
    const ahead = [hit('h0', 1), hit('h1', 0.01), hit('h2', 0)];
    expect(agesOf(rerank(ahead, (one) => ({ ...UNMOVED, places: age(one) === 0 ? -1 : 0 })))).toEqual([1, 0, 2]);
    expect(agesOf(rerank(ahead, (one) => ({ ...UNMOVED, places: age(one) === 1 ? 1 : 0 })))).toEqual([1, 0, 2]);
  });

  test('a hit of a collection with twice the weight comes before hits with less than twice its score', () => {
    const after = rerank(HITS, (one) => ({ ...UNMOVED, weight: age(one) === 40 ? 2 : 1 }));
    expect(agesOf(after)[0]).toBe(40);
    const far = rerank(HITS, (one) => ({ ...UNMOVED, weight: age(one) === 60 ? 2.01 : 1 }));
    expect(far.findIndex((one) => age(one) === 60)).toBe(20);
    for (const { score } of far) expect(score >= 0 && score <= 1).toBe(true);
  });

  test('recency bias 1 orders by age, 0 by relevance, and values in between combine both', () => {
    const newestLast = (bias: number) => rerank(HITS, (one) => ({ ...UNMOVED, changed: age(one) }), bias);
    expect(scores(newestLast(0))).toEqual(scores(HITS));
    expect(agesOf(newestLast(1))).toEqual(agesOf(HITS).reverse());
    expect(newestLast(0.3)[0]!.score).toBeCloseTo(0.7);
    expect(agesOf(newestLast(0.3))[0]).toBe(0);
    expect(agesOf(newestLast(0.7))[0]).toBe(100);
  });

  test('nothing to rank, and hits of the same age, are no errors', () => {
    expect(rerank([], () => UNMOVED, 1)).toEqual([]);
    expect(scores(rerank(HITS.slice(0, 2), () => ({ ...UNMOVED, weight: 5, changed: 7 }), 0.5))).toEqual([
      ['h0', 1],
      ['h1', 0.995],
    ]);
  });
});
