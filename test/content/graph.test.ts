import { describe, expect, test } from '@jest/globals';
import type { Graph } from '../../domain/content/graph.js';
import { createGraphExtractor } from '../../providers/graph/index.js';
import { duringTests } from '../support/during-tests.js';

const extractor = duringTests(createGraphExtractor);

const read = (...texts: string[]) => extractor.extract(texts.map((text, n) => ({ chunk_id: `chk_${n}`, text })));
const types = (graph: Graph) => Object.fromEntries(graph.entities.map((entity) => [entity.name, entity.type]));
const edges = (graph: Graph) =>
  graph.relations.map(({ source, relation, target }) => `${source} | ${relation} | ${target}`);

describe('entities', () => {
  test('people, organizations, places, dates and concepts are distinguished', async () => {
    const graph = await read(
      'Maria Jensen joined the University of Edinburgh on 12 June 2024. The maintenance crew of Aqualis Systems works in London.',
    );
    expect(types(graph)).toMatchObject({
      'Maria Jensen': 'person',
      'University of Edinburgh': 'organization',
      '12 June 2024': 'date',
      'maintenance crew': 'concept',
      'Aqualis Systems': 'organization',
      London: 'place',
    });
  });

  test('names that differ in title, possessive, legal form or plural are one entity', async () => {
    const graph = await read(
      "Dr. Ingrid Halvorsen designed magnet generators for Nordvind Energi AS. Halvorsen's team works for Nordvind Energi. Every magnet generator spins.",
    );
    const names = graph.entities.map((entity) => entity.name);
    expect(names.filter((name) => name.includes('Halvorsen'))).toEqual(['Ingrid Halvorsen']);
    expect(names.filter((name) => name.includes('Nordvind'))).toHaveLength(1);
    expect(names.filter((name) => name.includes('magnet'))).toEqual(['magnet generator']);
  });

  test('a mention has its chunk and its sentence', async () => {
    const graph = await read('Nothing is named here.', 'Barack Obama visited Paris. It rained.');
    const obama = graph.entities.find((entity) => entity.name === 'Barack Obama')!;
    expect(obama.mentions).toEqual([{ chunk_id: 'chk_1', sentence: 'Barack Obama visited Paris.' }]);
  });

  test('labels, month names and single common words are not entities', async () => {
    const graph = await read(
      'Price: 40; Ship: Astrid\nPrice: 55; Ship: Freja',
      'The door was open in March. A dog slept.',
    );
    expect(Object.keys(types(graph)).filter((name) => /^(price|ship|march|door|dog)$/i.test(name))).toEqual([]);
  });
});

describe('relations', () => {
  test('the verb phrase between subject and object is their relation, with the sentence as evidence', async () => {
    const graph = await read('Alice Brown founded Acme Corp in 1999. John Smith works for Microsoft.');
    expect(edges(graph)).toEqual(
      expect.arrayContaining([
        'Alice Brown | founded | Acme Corp',
        'Alice Brown | founded in | 1999',
        'John Smith | works for | Microsoft',
      ]),
    );
    const founded = graph.relations.find((relation) => relation.relation === 'founded')!;
    expect(founded.evidence).toEqual([{ chunk_id: 'chk_0', sentence: 'Alice Brown founded Acme Corp in 1999.' }]);
  });

  test('all subjects of a list have the relation, and names without a verb between them co-occur', async () => {
    const graph = await read('Microsoft and Google signed an agreement with Acme Corp.');
    for (const name of ['Microsoft', 'Google'])
      expect(edges(graph)).toContain(`${name} | signed agreement with | Acme Corp`);
    expect(edges(graph)).toContain('Microsoft | co-occurs with | Google');
  });

  test('both ends of every relation are entities of the graph', async () => {
    const graph = await read(
      'Maria Jensen manages the maintenance crew in Bergen, Norway. The crew met Google and NASA in Paris.',
    );
    const names = new Set(graph.entities.map((entity) => entity.name));
    expect(graph.relations.length).toBeGreaterThan(2);
    for (const { source, target } of graph.relations)
      expect([names.has(source), names.has(target)]).toEqual([true, true]);
  });
});

describe('bounds', () => {
  test('the same chunks give the same graph', async () => {
    const texts = ['Alice Brown founded Acme Corp in London.', 'Google bought Acme Corp in 2021.'];
    expect(await read(...texts)).toEqual(await read(...texts));
  });

  test('counts, evidence and sentences are bounded', async () => {
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
    const names = letters.flatMap((a) => letters.map((b) => `${a}lmar ${b}ergstrand`));
    const long = `${'Alice Brown saw Paris and '.repeat(18)}left.`;
    const graph = await read(
      ...names.map((name) => `Yesterday ${name} visited Google.`),
      ...Array<string>(50).fill(long),
    );
    expect(graph.entities.length).toBe(400);
    expect(graph.relations.length).toBeLessThanOrEqual(800);
    expect(Math.max(...graph.entities.map((entity) => entity.mentions.length))).toBe(20);
    expect(Math.max(...graph.relations.map((relation) => relation.evidence.length))).toBe(5);
    expect(
      Math.max(...graph.entities.flatMap((entity) => entity.mentions.map(({ sentence }) => sentence.length))),
    ).toBe(400);
  });

  test('text that is not a language is skipped, and the text next to it is read', async () => {
    const graph = await read(`${'a.b.'.repeat(100_000)} and then Barack Obama visited Paris.`);
    expect(edges(graph)).toContain('Barack Obama | visited | Paris');
  });

  test('an aborted extraction ends with the reason of the signal', async () => {
    const reason = new Error('stopped');
    await expect(extractor.extract([{ chunk_id: 'c', text: 'x' }], AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});
