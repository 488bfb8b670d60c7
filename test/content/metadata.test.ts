import { beforeAll, describe, expect, test } from '@jest/globals';
import { addFields, type MetadataField } from '../../domain/content/databases.js';
import { metadataFault, unstorableMetadata } from '../../domain/content/metadata.js';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests } from '../support/during-tests.js';
import { sharedProduct, withDb } from '../support/product.js';

const FIELDS = [
  { name: 'flag', data_type: 'BOOL' },
  { name: 'tiny', data_type: 'INT8' },
  { name: 'small', data_type: 'INT16' },
  { name: 'year', data_type: 'INT32' },
  { name: 'big', data_type: 'INT64' },
  { name: 'ratio', data_type: 'FLOAT' },
  { name: 'exact', data_type: 'DOUBLE' },
  { name: 'name', data_type: 'VARCHAR', max_length: 3 },
  { name: 'any', data_type: 'JSON' },
  { name: 'tags', data_type: 'ARRAY' },
] as const satisfies MetadataField[];

describe('typed metadata', () => {
  test.each<[string, unknown[], unknown[]]>([
    ['flag', [true, false], ['true', 1, []]],
    ['tiny', [-128, 127, 0], [128, -129, 1.5, '1', true]],
    ['small', [-32_768, 32_767], [32_768, -32_769]],
    ['year', [-2_147_483_648, 2_147_483_647], [2_147_483_648, -2_147_483_649, 2000.5]],
    ['big', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER], [2 ** 53, 0.1, '7']],
    ['ratio', [0.5, -3.4e38, 1], [3.5e38, '0.5', Number.NaN]],
    ['exact', [1e300, -0.1], ['1e300', Number.POSITIVE_INFINITY, {}]],
    ['name', ['', 'abc', '漢字仮', '😀😀😀'], ['abcd', 3, ['a']]],
    ['any', [{ a: [1] }, [], 'x', 7, false], []],
    ['tags', [[], ['a', 1, true]], ['a', {}, [{}], [['a']], [null]]],
  ])('values of a %s field', (name, good, bad) => {
    for (const value of good) expect([value, metadataFault(FIELDS, { [name]: value })]).toEqual([value, null]);
    for (const value of bad) expect(metadataFault(FIELDS, { [name]: value })).toMatch(new RegExp(`^${name}: must be `));
  });

  test('null is not validated, and undeclared fields can have any value', () => {
    expect(metadataFault(FIELDS, { year: null, colour: ['red'], toString: 1 })).toBeNull();
    expect(metadataFault([{ name: 'toString', data_type: 'BOOL' }], {})).toBeNull();
  });

  test('values that MongoDB cannot store and values over a limit are rejected at any depth', () => {
    const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`);
    const odd = { $set: { $gt: 1, 'a.b': [null] }, '': 'x', constructor: 1, a: { $ref: 'b.c' }, b: { $id: 'x' } };
    for (const fit of [{}, nested(64), odd]) expect(unstorableMetadata(fit)).toBeNull();
    expect(unstorableMetadata(nested(65))).toMatch(/64 levels/);
    expect(unstorableMetadata({ a: JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)) })).toMatch(/64 levels/);
    expect(unstorableMetadata({ a: [{ 'b\0c': 1 }] })).toMatch(/"b\\u0000c"/);
    expect(unstorableMetadata({ a: { _bsontype: 'ObjectId' } })).toMatch(/"_bsontype"/);
    for (const reference of [{ $ref: 'b.c', $id: 'x' }, { a: [{ $id: 1, b: 2, $ref: 'c' }] }])
      expect(unstorableMetadata(reference)).toMatch(/"\$ref" and "\$id"/);
    expect(unstorableMetadata(JSON.parse('{"a": [1e400]}'))).toMatch(/too large/);
    expect(unstorableMetadata({ a: 'x'.repeat(65_536) })).toMatch(/64 KiB/);
  });

  test('a schema can grow; a field keeps its type and valid values stay valid', () => {
    const name = (max_length?: number): MetadataField => ({ name: 'name', data_type: 'VARCHAR', max_length });
    expect(addFields([name(3)], [name(9), { name: 'new', data_type: 'BOOL' }])).toEqual({
      fields: [name(9), { name: 'new', data_type: 'BOOL', max_length: undefined }],
    });
    expect(addFields([name(3)], [name()])).toEqual({ fields: [name()] });
    for (const [before, after] of [
      [name(3), name(2)],
      [name(), name(5)],
      [name(3), { name: 'name', data_type: 'JSON' as const }],
    ] as const) {
      expect(addFields([before], [after])).toEqual({ conflict: 'name' });
    }
  });
});

describe('metadata of a database', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'metadata';
  const api = clientDuringTests(org);
  beforeAll(async () => {
    await api.createDatabase('typed');
    const response = await patch('typed', FIELDS);
    expect([response.status, response.body]).toEqual([200, { database: 'typed', database_metadata_schema: FIELDS }]);
  });

  const patch = (database: string, fields: unknown) =>
    api.request('PATCH', `/databases/${database}/metadata-schema`, { json: { database_metadata_schema: fields } });
  const items = () => withDb(mongodbUri, (db) => db.collection('items').countDocuments({ org }));

  test('fields are added to the schema; adding them again changes nothing', async () => {
    expect((await patch('typed', [{ name: 'later', data_type: 'BOOL' }])).status).toBe(200);
    expect((await patch('typed', [{ name: 'later', data_type: 'BOOL' }])).status).toBe(200);
    const { databases } = (await api.get('/databases')).body.data;
    const typed = databases.find(({ database }: { database: string }) => database === 'typed');
    expect(typed.database_metadata_schema.map(({ name }: MetadataField) => name)).toEqual([
      ...FIELDS.map(({ name }) => name),
      'later',
    ]);
  });

  test('a field with enable_match is returned with it, and can be matched exactly like every other field', async () => {
    const fields = [
      { name: 'code', data_type: 'VARCHAR', enable_match: true },
      { name: 'shelf', data_type: 'VARCHAR' },
    ];
    await api.createDatabase('matched');
    expect((await patch('matched', fields)).body).toMatchObject({ database_metadata_schema: fields });
    const memories = ['A 1', 'A 12'].map((code) => ({
      id: code.replace(' ', ''),
      text: 'A lamp.',
      metadata: { code, shelf: code },
    }));
    await api.ingest({ database: 'matched', memories: JSON.stringify(memories) });
    for (const { id } of memories) await api.ended('matched', id);
    for (const name of ['code', 'shelf']) {
      const query = { database: 'matched', query: 'lamp', metadata_filters: { [name]: 'A 1' } };
      const { chunks } = (await api.post('/query', query)).body.data;
      expect(chunks.map(({ source_id }: { source_id: string }) => source_id)).toEqual(['A1']);
    }
  });

  test('fields that are added at the same time are all kept', async () => {
    const names = Array.from({ length: 8 }, (_, n) => `parallel_${n}`);
    await api.createDatabase('grown');
    await Promise.all(names.map((name) => patch('grown', [{ name, data_type: 'BOOL' }])));
    const { body } = await patch('grown', [{ name: names[0], data_type: 'BOOL' }]);
    const { database_metadata_schema } = body as unknown as { database_metadata_schema: MetadataField[] };
    expect(database_metadata_schema.map(({ name }) => name).sort()).toEqual(names);
  });

  test('400 and 409 of the schema have INTERNAL_ERROR, other errors their own code, all with the envelope', async () => {
    expect(statusAndCode(await patch('typed', [{ name: 'year', data_type: 'VARCHAR' }]))).toEqual([
      409,
      'INTERNAL_ERROR',
    ]);
    const contradiction = ['BOOL', 'INT8'].map((data_type) => ({ name: 'x', data_type }));
    expect(statusAndCode(await patch('typed', contradiction))).toEqual([409, 'INTERNAL_ERROR']);
    expect(statusAndCode(await patch('typed', undefined))).toEqual([400, 'INTERNAL_ERROR']);
    const path = '/databases/typed/metadata-schema';
    expect(statusAndCode(await api.request('PATCH', path, { body: '{"data' }))).toEqual([400, 'INTERNAL_ERROR']);
    expect(statusAndCode(await api.request('PATCH', path, { headers: { 'API-Version': '1' } }))).toEqual([
      400,
      'INTERNAL_ERROR',
    ]);
    // Only on this route: an item can have the id `metadata-schema`.
    expect(statusAndCode(await api.request('PATCH', '/context/metadata-schema', { json: {} }))).toEqual([
      400,
      'INVALID_PARAMETERS',
    ]);
    const invalid = [
      [{ name: 'x', data_type: 'TEXT' }],
      [{ name: '1x', data_type: 'BOOL' }],
      [{ name: 'a.b', data_type: 'BOOL' }],
      [{ name: 'x', data_type: 'INT8', max_length: 3 }],
      [],
    ];
    for (const fields of invalid)
      expect([fields, ...statusAndCode(await patch('typed', fields))]).toEqual([fields, 422, 'VALIDATION_ERROR']);
    const many = Array.from({ length: 95 }, (_, n) => ({ name: `many_${n}`, data_type: 'BOOL' }));
    expect(statusAndCode(await patch('typed', many))).toEqual([422, 'VALIDATION_ERROR']);
    expect(statusAndCode(await patch('nowhere', FIELDS))).toEqual([404, 'DATABASE_NOT_FOUND']);
    const rejected = await patch('typed', [{ name: 'year', data_type: 'BOOL' }]);
    expect(rejected.body).toMatchObject({ success: false, data: null, meta: { request_id: expect.any(String) } });
  });

  test('a value of another type is 422 with the item and the field, and nothing is queued', async () => {
    const before = await items();
    const good = { id: 'good', text: 'Fine.', metadata: { year: 1879 } };
    const memories = await api.ingest({
      database: 'typed',
      memories: JSON.stringify([good, { id: 'bad', text: 'Not fine.', metadata: { year: 'early' } }]),
    });
    expect(statusAndCode(memories)).toEqual([422, 'VALIDATION_ERROR']);
    expect(memories.body.error?.message).toMatch(/^memories\.1\.metadata\.year: .*INT32.*"bad"/);
    const knowledge = await api.ingest({
      database: 'typed',
      memories: JSON.stringify([good]),
      app_knowledge: JSON.stringify([{ id: 'k', text: 'x', metadata: { tags: 'one' } }]),
    });
    expect(knowledge.body.error?.message).toMatch(/^app_knowledge\.0\.metadata\.tags: .*ARRAY.*"k"/);
    const files = await api.ingest(
      { database: 'typed', document_metadata: JSON.stringify([{}, { id: 'd', metadata: { name: 'long' } }]) },
      ['a.txt', 'b.txt'].map((name) => ({ name, content: 'Some text.' })),
    );
    expect(files.body.error?.message).toMatch(/^document_metadata\.1\.metadata\.name: .*3 characters.*"d"/);
    expect(await items()).toBe(before);
  });

  test('metadata that cannot be stored is 422 with the name of the item, in ingests and updates', async () => {
    const before = await items();
    const unstorable = [
      '{"a\\u0000b":1}',
      '{"a":{"_bsontype":"Long"}}',
      '{"a":{"$id":"x","$ref":"b.json"}}',
      `{"a":${'['.repeat(80)}${']'.repeat(80)}}`,
    ];
    await api.ingest({ database: 'typed', memories: '[{"id":"fit","text":"Fit to be stored."}]' });
    await api.ended('typed', 'fit');
    for (const metadata of unstorable) {
      for (const name of ['metadata', 'additional_metadata']) {
        const sent = await api.ingest({
          database: 'typed',
          memories: `[{"text":"x"},{"text":"y","${name}":${metadata}}]`,
        });
        expect(statusAndCode(sent)).toEqual([422, 'VALIDATION_ERROR']);
        expect(sent.body.error?.message).toMatch(new RegExp(`^memories\\.1\\.${name}: `));
        const body = `{"database":"typed","${name}":${metadata}}`;
        expect(statusAndCode(await api.request('PATCH', '/context/fit', { body }))).toEqual([422, 'VALIDATION_ERROR']);
      }
    }
    expect(await items()).toBe(before + 1);
  });

  test('additional metadata has no types, and typed metadata is returned with the hit', async () => {
    await api.ingest({
      database: 'typed',
      memories: JSON.stringify([
        {
          id: 'free',
          text: 'A free note.',
          metadata: { year: 1879, tags: ['a'] },
          additional_metadata: { year: 'any' },
        },
      ]),
    });
    await api.ended('typed', 'free');
    const { chunks } = (await api.post('/query', { database: 'typed', query: 'free note', ids: ['free'] })).body.data;
    expect(chunks[0].metadata).toMatchObject({ year: 1879, tags: ['a'] });
  });
});
