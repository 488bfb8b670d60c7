import { beforeAll, describe, expect, test } from '@jest/globals';
import { clientDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';

const SCHEMA = [
  { name: 'brand', data_type: 'VARCHAR' },
  { name: 'year', data_type: 'INT32' },
  { name: 'price', data_type: 'DOUBLE' },
  { name: 'sold', data_type: 'BOOL' },
  { name: 'colours', data_type: 'ARRAY' },
  { name: 'extra', data_type: 'JSON' },
  { name: '_Odd--name-2', data_type: 'VARCHAR' },
  { name: 'never_used', data_type: 'INT64' },
];
const ODD = `x') OR 1=1 -- "\\ 名`;
const KETTLES = [
  { id: 'acme', metadata: { brand: 'Acme', year: 1999, price: 9.5, sold: true, colours: ['red', 'blue'] } },
  { id: 'bolt', metadata: { brand: 'Bolt', year: 2005, price: 20, sold: false, colours: ['red'], extra: { a: 1 } } },
  {
    id: 'coda',
    metadata: { brand: ODD, year: -3, '_Odd--name-2': ODD },
    additional_metadata: { source: 'wiki', n: 7 },
  },
  { id: 'none', additional_metadata: { source: 'web', tags: ['a', 'b'] } },
];

describe('filters by metadata', () => {
  const api = clientDuringTests('filters');
  beforeAll(async () => {
    await api.post('/databases', { database: 'kettles', database_metadata_schema: SCHEMA });
    await eventually('database ready', async () => {
      return (await api.get('/databases/status?database=kettles')).body.data.infra.ready_for_ingestion;
    });
    const app_knowledge = JSON.stringify(
      KETTLES.map((kettle) => ({ ...kettle, text: `The kettle ${kettle.id} boils water.` })),
    );
    expect((await api.ingest({ database: 'kettles', app_knowledge })).status).toBe(202);
    for (const { id } of KETTLES)
      expect(await api.ended('kettles', id)).toMatchObject({ indexing_status: 'completed' });
  });

  const query = (metadata_filters: unknown, rest: object = {}) =>
    api.post('/query', { database: 'kettles', query: 'boiling water kettle', metadata_filters, ...rest });
  const found = async (metadata_filters: unknown, rest: object = {}) => {
    const { status, body } = await query(metadata_filters, rest);
    expect([status, body.error]).toEqual([200, null]);
    return body.data.chunks.map((chunk: { source_id: string }) => chunk.source_id).sort();
  };

  test.each<[string, object, string[]]>([
    ['no conditions', {}, ['acme', 'bolt', 'coda', 'none']],
    ['text', { brand: 'Acme' }, ['acme']],
    ['text with all special characters of SQL', { brand: ODD }, ['coda']],
    ['a field name with such characters', { '_Odd--name-2': { $eq: ODD } }, ['coda']],
    ['an integer', { year: 2005 }, ['bolt']],
    ['a negative integer', { year: { $lt: 0 } }, ['coda']],
    ['a number written as an integer', { price: 20.0 }, ['bolt']],
    ['a boolean', { sold: false }, ['bolt']],
    ['a list of values', { brand: ['Acme', 'Bolt', 'Unknown'] }, ['acme', 'bolt']],
    ['a list of numbers', { year: { $in: [1999, -3] } }, ['acme', 'coda']],
    ['a value in an ARRAY', { colours: 'blue' }, ['acme']],
    ['a list of values for an ARRAY', { colours: ['blue', 'red'] }, ['acme', 'bolt']],
    ['all named fields', { brand: 'Acme', year: 2005 }, []],
    ['a range', { year: { $gte: 1999, $lt: 2005 } }, ['acme']],
    ['a range with the other bounds', { price: { $gt: 9.5, $lte: 20 } }, ['bolt']],
    ['a range of text', { brand: { $gte: 'B', $lt: 'C' } }, ['bolt']],
    ['a range of a field that no item has', { never_used: { $gt: 0 } }, []],
    ['the negation of that', { $not: { never_used: { $gt: 0 } } }, ['acme', 'bolt', 'coda', 'none']],
    ['existence', { brand: { $exists: true } }, ['acme', 'bolt', 'coda']],
    ['absence', { brand: { $exists: false } }, ['none']],
    ['existence of a JSON field', { extra: { $exists: true } }, ['bolt']],
    ['inequality, including items without the field', { brand: { $ne: 'Acme' } }, ['bolt', 'coda', 'none']],
    ['not in a list', { brand: { $nin: ['Acme', 'Bolt'] } }, ['coda', 'none']],
    ['or', { $or: [{ brand: 'Acme' }, { year: { $gt: 2000 } }] }, ['acme', 'bolt']],
    ['and', { $and: [{ sold: { $exists: true } }, { $not: { sold: true } }] }, ['bolt']],
    ['not in a range, including items without the field', { $not: { year: { $gt: 0 } } }, ['coda', 'none']],
    ['the negation of no conditions', { $not: {} }, []],
    ['no conditions beside others', { $and: [{}, { brand: 'Acme', additional_metadata: {} }] }, ['acme']],
    ['a free field', { additional_metadata: { source: 'wiki' } }, ['coda']],
    ['a free number and a list of texts', { additional_metadata: { source: ['wiki', 'web'], n: 7 } }, ['coda']],
    ['a value in a free list', { additional_metadata: { tags: 'b' } }, ['none']],
    ['absence of a free field', { additional_metadata: { source: { $exists: false } } }, ['acme', 'bolt']],
    ['both kinds of fields', { year: -3, additional_metadata: { source: 'wiki' } }, ['coda']],
  ])('%s', async (_, filters, expected) => {
    for (const query_by of ['hybrid', 'text', 'vector']) {
      expect([query_by, await found(filters, { query_by })]).toEqual([query_by, expected]);
    }
  });

  test('combine with other restrictions', async () => {
    expect(await found({ sold: { $exists: true } }, { ids: ['bolt', 'none'] })).toEqual(['bolt']);
    expect(await found({ brand: 'Acme' }, { collection: 'other' })).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['an unknown field', { colour: 'red' }, 'metadata_filters.colour'],
    [
      'an unknown field in nested filters',
      { $or: [{ brand: 'Acme' }, { $not: { colour: 1 } }] },
      'metadata_filters.$or.1.$not.colour',
    ],
    ['a property of all JavaScript objects', { constructor: 'x' }, 'metadata_filters.constructor'],
    ['a name with a meaning for JavaScript', JSON.parse('{"__proto__": 1}'), 'metadata_filters.__proto__'],
    ['text for a number', { year: '1999' }, 'metadata_filters.year'],
    ['a fraction for an integer', { year: 1.5 }, 'metadata_filters.year'],
    ['a number for text, in a list', { brand: ['Acme', 7] }, 'metadata_filters.brand.1'],
    ['a number for a boolean', { sold: 1 }, 'metadata_filters.sold'],
    ['a range of booleans', { sold: { $gt: false } }, 'metadata_filters.sold.$gt'],
    [
      'a range of a free field',
      { additional_metadata: { n: { $gt: 1 } } },
      'metadata_filters.additional_metadata.n.$gt',
    ],
    ['a value for a JSON field', { extra: 'x' }, 'metadata_filters.extra'],
    ['null', { brand: null }, 'metadata_filters.brand'],
    ['an unknown operator', { brand: { $like: 'A%' } }, 'metadata_filters.brand.$like'],
    ['an empty list', { brand: [] }, 'metadata_filters.brand'],
    ['an empty condition', { brand: {} }, 'metadata_filters.brand'],
    ['a list instead of filters', { $not: [] }, 'metadata_filters.$not'],
    ['an object instead of a list', { $or: { brand: 'Acme' } }, 'metadata_filters.$or'],
    ['too many values', { year: Array.from({ length: 1_001 }, (_, n) => n) }, 'metadata_filters'],
    ['too many filters without conditions', { $or: Array(101).fill({}) }, 'metadata_filters'],
    ['too many without free fields', { $and: Array(101).fill({ additional_metadata: {} }) }, 'metadata_filters'],
    ['text instead of filters', 'brand = Acme', 'metadata_filters'],
  ])('are rejected with the name of the field: %s', async (_, filters, field) => {
    const { status, body } = await query(filters);
    expect([status, body.error!.code]).toEqual([422, 'VALIDATION_ERROR']);
    expect(body.error!.message.startsWith(`${field}: `)).toBe(true);
  });

  test('have a maximum depth', async () => {
    const nested = async (levels: number) => {
      const filters = `${'{"$not":'.repeat(levels)}{"brand":"Acme"}${'}'.repeat(levels)}`;
      const body = `{"database":"kettles","query":"kettle","metadata_filters":${filters}}`;
      return (await api.request('POST', '/query', { body, headers: { 'Content-Type': 'application/json' } })).status;
    };
    expect(await nested(7)).toBe(200);
    expect(await nested(8)).toBe(422);
    expect(await nested(5_000)).toBe(422);
  });
});
