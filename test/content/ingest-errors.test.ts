import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { Binary } from 'mongodb';
import { type ApiResponse, statusAndCode } from '../support/client.js';
import { clientDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';

describe('an ingest that is rejected', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const org = 'rejected-ingests';
  const api = clientDuringTests(org);
  beforeAll(() => api.createDatabase('inbox'));

  const boundary = { 'Content-Type': 'multipart/form-data; boundary=xyz' };
  const memories = (items: unknown) => api.ingest({ database: 'inbox', memories: JSON.stringify(items) });
  const counts = () =>
    withDb(mongodbUri, async (db) => ({
      items: await db.collection('items').countDocuments({ org }),
      files: await db.collection('files.files').countDocuments({ 'metadata.org': org }),
    }));

  /** A multipart request that the test writes piece by piece. */
  function openForm() {
    const { hostname, port } = new URL(apiUrl);
    const headers = { Authorization: `Bearer ${api.key}`, 'API-Version': '2', ...boundary };
    return httpRequest({ hostname, port, method: 'POST', path: '/context/ingest', headers });
  }

  /** Chunks in the file store that start with this character; only one test sends such a file. */
  const storedChunksOf = (letter: string) =>
    withDb(mongodbUri, async (db) => {
      const pieces = await db.collection<{ data: Binary }>('files.chunks').find({ n: 0 }).toArray();
      return pieces.filter(({ data }) => data.buffer[0] === letter.charCodeAt(0)).length;
    });

  /** A request that is rejected as a whole leaves neither items nor files. */
  async function rejected(send: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const before = await counts();
    const response = await send();
    await eventually('no items or files remain', async () => JSON.stringify(await counts()) === JSON.stringify(before));
    return response;
  }

  test('malformed multipart is 400', async () => {
    const cut = '--xyz\r\nContent-Disposition: form-data; name="documents"; filename="a.txt"\r\n\r\nhalf a fi';
    expect(
      statusAndCode(await rejected(() => api.request('POST', '/context/ingest', { body: cut, headers: boundary }))),
    ).toEqual([400, 'INVALID_PARAMETERS']);
    expect(
      statusAndCode(
        await api.request('POST', '/context/ingest', { body: 'x', headers: { 'Content-Type': 'multipart/form-data' } }),
      ),
    ).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await api.post('/context/ingest', { database: 'inbox' }))).toEqual([
      400,
      'INVALID_PARAMETERS',
    ]);
    const nameless = '--xyz\r\nContent-Disposition: form-data\r\n\r\nx\r\n--xyz--\r\n';
    expect(
      statusAndCode(
        await rejected(() => api.request('POST', '/context/ingest', { body: nameless, headers: boundary })),
      ),
    ).toEqual([400, 'INVALID_PARAMETERS']);
    // The media type is case-insensitive.
    const valid = '--xyz\r\nContent-Disposition: form-data; name="database"\r\n\r\nnowhere\r\n--xyz--\r\n';
    const headers = { 'Content-Type': 'Multipart/Form-Data; boundary=xyz' };
    expect(statusAndCode(await api.request('POST', '/context/ingest', { body: valid, headers }))).toEqual([
      404,
      'DATABASE_NOT_FOUND',
    ]);
  });

  test('items that are not UTF-8 are 422, not stored with replacement characters', async () => {
    const part = (name: string, value: string) =>
      `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const form = `${part('database', 'inbox')}${part('memories', '[{"text": "café"}]')}--xyz--\r\n`;
    const body = Buffer.from(form, 'latin1');
    const response = await rejected(() => api.request('POST', '/context/ingest', { body, headers: boundary }));
    expect(statusAndCode(response)).toEqual([422, 'VALIDATION_ERROR']);
    expect(response.body.error?.message).toBe('memories: must be UTF-8');
  });

  test('a truncated file after another error in the request does not affect other requests', async () => {
    const field = '--xyz\r\nContent-Disposition: form-data; name="database"\r\n\r\ninbox\r\n';
    const cut = '--xyz\r\nContent-Disposition: form-data; name="documents"; filename="a.txt"\r\n\r\nhalf a fi';
    const send = () => api.request('POST', '/context/ingest', { body: field + field + cut, headers: boundary });
    expect((await rejected(send)).status).toBe(422);
    expect((await fetch(`${apiUrl}/healthz`)).status).toBe(200);
  });

  test('a client that disconnects in the middle of a file leaves no data', async () => {
    const before = await counts();
    const request = openForm();
    const closed = new Promise<void>((resolve) => request.on('error', () => resolve()));
    request.write('--xyz\r\nContent-Disposition: form-data; name="documents"; filename="a.txt"\r\n\r\n');
    request.write('~'.repeat(3 * 1024 * 1024));
    await eventually('some chunks stored', async () => (await storedChunksOf('~')) > 0);
    request.destroy(new Error('disconnected'));
    await closed;
    await eventually('no items or files remain', async () => JSON.stringify(await counts()) === JSON.stringify(before));
    await eventually('its chunks removed', async () => (await storedChunksOf('~')) === 0);
    expect((await fetch(`${apiUrl}/healthz`)).status).toBe(200);
  });

  test('more files than allowed are 422, and nothing is stored', async () => {
    const many = Array.from({ length: 300 }, (_, n) => ({ name: `${n}.txt`, content: `File ${n}` }));
    const response = await rejected(() => api.ingest({ database: 'inbox' }, many));
    expect(statusAndCode(response)).toEqual([422, 'VALIDATION_ERROR']);
    expect(response.body.error?.message).toMatch(/must not exceed 100 files/);
  });

  test.each([
    ['fields', 'Content-Disposition: form-data; name="x"'],
    ['files', 'Content-Disposition: form-data; name="documents"; filename="a.txt"'],
    ['parts', 'X: y'],
  ])('a form with too many %s is rejected while the rest of it is on its way', async (_, header) => {
    const request = openForm();
    request.on('error', () => undefined);
    request.write(`--xyz\r\n${header}\r\n\r\n1\r\n`.repeat(200));
    const [response] = await once(request, 'response');
    expect(response.statusCode).toBe(422);
    request.destroy();
  });

  test('a field that is sent twice, or that nobody knows, is 422', async () => {
    const form = (field: string) => {
      const sent = new FormData();
      sent.append('database', 'inbox');
      sent.append('memories', '[{"text":"Sent with other fields."}]');
      sent.append(field, 'x');
      sent.append(field, 'y');
      return sent;
    };
    const repeated = await rejected(() => api.request('POST', '/context/ingest', { body: form('collection') }));
    expect(statusAndCode(repeated)).toEqual([422, 'VALIDATION_ERROR']);
    expect(repeated.body.error?.message).toBe('collection: must be sent only once');
    for (const [name, meant] of [
      ['metadata', 'document_metadata'],
      ['colection', 'collection'],
    ] as const) {
      const unknown = await rejected(() => api.request('POST', '/context/ingest', { body: form(name) }));
      expect(statusAndCode(unknown)).toEqual([422, 'VALIDATION_ERROR']);
      expect(unknown.body.error?.message).toBe(`${name}: is not known; did you mean "${meant}"?`);
    }
  });

  test('invalid fields are 422 with the name of the field', async () => {
    const invalid: [Record<string, string>, RegExp][] = [
      [{ memories: 'not json' }, /memories/],
      [{ memories: '{"text":"an object"}' }, /memories/],
      [{ memories: '[{"title":"no text"}]' }, /memories\.0/],
      [{ memories: '[{"text":17}]' }, /memories\.0\.text/],
      [{ memories: '[{"id":"","text":"x"}]' }, /memories\.0\.id/],
      [{ memories: JSON.stringify([{ id: '漢'.repeat(100), text: 'x' }]) }, /memories\.0\.id/],
      [{ memories: JSON.stringify([{ text: 'x', metadata: { y: 'z'.repeat(70_000) } }]) }, /memories\.0\.metadata/],
      [{ app_knowledge: '[{"title":"nothing"}]' }, /app_knowledge\.0/],
      // An object that the client did not serialise as JSON.
      [{ memories: '[object Object]' }, /memories/],
      [{ memories: '["[object Object]"]' }, /memories\.0/],
      [{ app_knowledge: '{"text":"an object"}' }, /app_knowledge/],
      [{ document_metadata: '{"id":"an object"}' }, /document_metadata/],
      [{ 'memories[0][text]': 'x' }, /memories/],
      [{ 'app_knowledge.0.text': 'x' }, /app_knowledge/],
      [{ memories: '[{"user_assistant_pairs":[]}]' }, /memories\.0\.user_assistant_pairs/],
      [{ memories: '[{"user_assistant_pairs":[{"user":"only"}]}]' }, /memories\.0\.user_assistant_pairs\.0\.assistant/],
      [{ memories: '[{"user_assistant_pairs":[{"user":" ","assistant":""}]}]' }, /memories\.0/],
      [
        {
          memories: JSON.stringify([
            { text: 'x'.repeat(1.5e6), user_assistant_pairs: [{ user: 'x'.repeat(1e6), assistant: '' }] },
          ]),
        },
        /memories\.0/,
      ],
      [{ memories: `["${'\\"'.repeat(3e6)}"]` }, /memories: must not have an element of more than \d+ characters/],
      [{ memories: `[{"text":"x","metadata":[${'0,'.repeat(40_000)}0]}]` }, /memories: .* more than \d+ values/],
      [{ memories: '[{"text":"x"}]', collection: 'x'.repeat(70_000) }, /collection: must not exceed 65536 bytes/],
      [{ documents: 'text that is no file', memories: '[{"text":"x"}]' }, /documents/],
      [{ document_metadata: '[{"id":"a"}]', memories: '[{"text":"x"}]' }, /document_metadata/],
      [{ memories: '[{"text":"x"}]', type: 'neither' }, /type/],
      [{ memories: '[{"text":"x"}]', upsert: 'maybe' }, /upsert/],
    ];
    for (const [fields, message] of invalid) {
      const response = await rejected(() => api.ingest({ database: 'inbox', ...fields }));
      expect([fields, ...statusAndCode(response)]).toEqual([fields, 422, 'VALIDATION_ERROR']);
      expect(response.body.error?.message).toMatch(message);
    }
    const file = [{ name: 'a.txt', content: 'text' }];
    for (const document_metadata of ['[{},{}]', '[]']) {
      const mismatch = await rejected(() => api.ingest({ database: 'inbox', document_metadata }, file));
      expect(statusAndCode(mismatch)).toEqual([422, 'VALIDATION_ERROR']);
      expect(mismatch.body.error?.message).toMatch(/document_metadata: has \d entries for 1 documents/);
    }
    const form = new FormData();
    form.set('database', 'inbox');
    form.set('memories', new Blob(['[{"text":"x"}]'], { type: 'application/json' }));
    const asFile = await rejected(() => api.request('POST', '/context/ingest', { body: form }));
    expect(statusAndCode(asFile)).toEqual([422, 'VALIDATION_ERROR']);
    expect(asFile.body.error?.message).toMatch(/^memories: /);
    expect(statusAndCode(await rejected(() => api.ingest({ database: 'inbox' })))).toEqual([400, 'INVALID_PARAMETERS']);
    expect(statusAndCode(await rejected(() => api.ingest({ memories: '[{"text":"x"}]' })))).toEqual([
      400,
      'INVALID_PARAMETERS',
    ]);
    expect(statusAndCode(await rejected(() => api.ingest({ database: 'nowhere' }, file)))).toEqual([
      404,
      'DATABASE_NOT_FOUND',
    ]);
  });

  test('a repeated id in a request is 422; an existing id is 409, and replaced with upsert', async () => {
    const rejectedFor = async (items: object[]) => statusAndCode(await rejected(() => memories(items)));
    const twins = ['one', 'two'].map((text) => ({ id: 'twin', text }));
    expect(await rejectedFor(twins)).toEqual([422, 'VALIDATION_ERROR']);
    expect((await memories([{ id: 'only', text: 'The colour of the door is green.' }])).status).toBe(202);
    const existing = ['only', 'other'].map((id) => ({ id, text: 'again' }));
    expect(await rejectedFor(existing)).toEqual([409, 'SOURCE_ALREADY_EXISTS']);
    await api.ended('inbox', 'only');
    const replaced = await api.ingest({
      database: 'inbox',
      upsert: 'true',
      memories: JSON.stringify([{ id: 'only', text: 'The colour of the door is violet.' }]),
    });
    expect(replaced.status).toBe(202);
    await api.ended('inbox', 'only');
    const found = await eventually('the new text', async () => {
      const { chunks } = (await api.post('/query', { database: 'inbox', query: 'colour of the door', ids: ['only'] }))
        .body.data;
      return chunks.length === 1 && chunks[0].text.includes('violet') ? chunks : undefined;
    });
    expect(found[0].text).not.toContain('green');
  });

  test('a database that is not ready is 422', async () => {
    await withDb(mongodbUri, async (db) => {
      const now = new Date(Date.now() + 3_600_000);
      await db.collection<{ _id: string }>('databases').insertOne({
        _id: 'tnt_notready',
        org,
        name: 'notready',
        status: 'provisioning',
        metadata_schema: [],
        index: { generation: 1, embeddings: null },
        graph_ready: false,
        created_at: now,
        updated_at: now,
      } as { _id: string });
    });
    expect((await api.get('/databases/status?database=notready')).body.data.infra.ready_for_ingestion).toBe(false);
    const response = await rejected(() => api.ingest({ database: 'notready', memories: '[{"text":"x"}]' }));
    expect(statusAndCode(response)).toEqual([422, 'TENANT_INFRA_NOT_READY']);
    expect(statusAndCode(await api.post('/query', { database: 'notready', query: 'x' }))).toEqual([
      422,
      'TENANT_INFRA_NOT_READY',
    ]);
  });
});
