import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { statusAndCode } from '../support/client.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { sharedProduct, withDb } from '../support/product.js';

describe('ingesting', () => {
  const { mongodbUri } = sharedProduct();
  const api = clientDuringTests('ingesting');
  const receiver = receiverDuringTests(api);
  beforeAll(() => api.createDatabase('inbox'));

  test('files of every kind in one request: each is completed and has a webhook', async () => {
    const files = [
      'lighthouse-history.pdf',
      'keeper-handbook.docx',
      'lamp-log.csv',
      'notice-board.png',
      'visitor-notes.md',
    ];
    const response = await api.ingest(
      { database: 'inbox', document_metadata: JSON.stringify(files.map((id) => ({ id }))) },
      files.map((name) => ({ name, content: readFileSync(`examples/${name}`) })),
    );
    expect(response.status).toBe(202);
    expect(response.body.data).toMatchObject({ success_count: 5, failed_count: 0 });
    expect(response.body.data.results).toEqual(files.map((id) => ({ id, filename: id, status: 'queued' })));
    for (const id of files) {
      expect(await api.ended('inbox', id)).toMatchObject({ indexing_status: 'completed', error_code: null });
      expect((await receiver.waitFor(`webhook of ${id}`, ({ json }) => json.id === id)).json).toMatchObject({
        status: 'completed',
      });
    }
  });

  test('app knowledge and conversations are indexed', async () => {
    const response = await api.ingest({
      database: 'inbox',
      collection: 'chat',
      app_knowledge: JSON.stringify([
        {
          id: 'ticket-7',
          title: 'Ticket 7',
          content: 'The export button does nothing.',
          url: 'https://tickets.example/7',
        },
      ]),
      memories: JSON.stringify([
        { id: 'talk', user_assistant_pairs: [{ user: 'Where is the key?', assistant: 'Under the mat.' }] },
      ]),
    });
    expect(response.body.data.success_count).toBe(2);
    await api.ended('inbox', 'ticket-7');
    await api.ended('inbox', 'talk');
    const results = await api.post('/query', {
      database: 'inbox',
      query: 'Where is the key?',
      type: 'memory',
      collection: 'chat',
    });
    expect(results.body.data.chunks[0]).toMatchObject({
      source_id: 'talk',
      type: 'memory',
      collection: 'chat',
      text: expect.stringContaining('Under the mat'),
    });
  });

  test('texts in a JSON body are indexed like those of a form', async () => {
    const body = {
      database: 'inbox',
      collection: 'json',
      upsert: true,
      app_knowledge: [{ id: 'ferry', title: 'Ferry', text: 'The ferry leaves at six.', url: 'https://ferry.example' }],
      memories: [{ id: 'tide', user_assistant_pairs: [{ user: 'When is high tide?', assistant: 'At noon.' }] }],
    };
    const response = await api.post('/context/ingest', body);
    expect(response.status).toBe(202);
    expect(response.body.data).toMatchObject({ success_count: 2, failed_count: 0 });
    expect(response.body.data.results).toEqual([
      { id: 'ferry', status: 'queued' },
      { id: 'tide', status: 'queued' },
    ]);
    for (const id of ['ferry', 'tide']) expect(await api.ended('inbox', id)).toMatchObject({ collection: 'json' });
    // The same content as a form has the same hash.
    const { upsert: _, app_knowledge, memories, ...names } = body;
    const lists = { app_knowledge: JSON.stringify(app_knowledge), memories: JSON.stringify(memories) };
    const again = await api.ingest({ ...names, upsert: 'true', ...lists });
    expect(again.body.data.results).toEqual(
      ['ferry', 'tide'].map((id) => ({ id, status: 'completed', unchanged: true })),
    );
  });

  test('a JSON body is rejected as a whole, with the name of the field', async () => {
    const reject = async (body: unknown) => {
      const { status, body: answer } = await api.request('POST', '/context/ingest', { json: body });
      return [status, answer.error?.code, answer.error?.message];
    };
    const item = { text: 'A text.' };
    const valid = { database: 'inbox', memories: [item] };
    expect(await reject({ ...valid, upsert: 'true' })).toEqual([
      422,
      'VALIDATION_ERROR',
      expect.stringMatching(/^upsert:/),
    ]);
    expect(await reject({ ...valid, type: 'memory' })).toEqual([
      422,
      'VALIDATION_ERROR',
      expect.stringMatching(/^type: is not known/),
    ]);
    expect(await reject({ ...valid, memories: JSON.stringify([item]) })).toEqual([
      422,
      'VALIDATION_ERROR',
      expect.stringMatching(/^memories:/),
    ]);
    expect(await reject({ ...valid, memories: [item, { text: ' ' }] })).toEqual([
      422,
      'VALIDATION_ERROR',
      expect.stringMatching(/^memories\.1: must have text/),
    ]);
    expect(await reject({ database: 'inbox', memories: [] })).toEqual([
      400,
      'INVALID_PARAMETERS',
      'documents, app_knowledge or memories is required',
    ]);
    expect(await reject({ memories: [item] })).toEqual([400, 'INVALID_PARAMETERS', 'database: is required']);
    expect(await reject(null)).toEqual([422, 'VALIDATION_ERROR', expect.any(String)]);
    expect(await reject([])).toEqual([422, 'VALIDATION_ERROR', expect.any(String)]);
    expect(await reject({ ...valid, memories: [{ text: 'a'.repeat(1024 * 1024) }] })).toEqual([
      413,
      'PAYLOAD_TOO_LARGE',
      expect.any(String),
    ]);
  });

  test('a JSON body with an Idempotency-Key is ingested once', async () => {
    const send = (text: string) =>
      api.request('POST', '/context/ingest', {
        json: { database: 'inbox', memories: [{ text }] },
        headers: { 'Idempotency-Key': 'ingest-json' },
      });
    const first = await send('Sent twice.');
    const second = await send('Sent twice.');
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(statusAndCode(await send('Another text.'))).toEqual([409, 'IDEMPOTENCY_CONFLICT']);
  });

  test('the text of all fields of an item is indexed once', async () => {
    const response = await api.ingest({
      database: 'inbox',
      app_knowledge: JSON.stringify([{ id: 'repeated', text: 'About zebras.', content: 'About zebras.' }]),
      memories: JSON.stringify([
        {
          id: 'both-fields',
          text: 'A remark on zebras.',
          user_assistant_pairs: [
            { user: ' ', assistant: '' },
            { user: 'And quaggas?', assistant: 'They are extinct.' },
          ],
        },
      ]),
    });
    expect(response.body.data.success_count).toBe(2);
    await api.ended('inbox', 'repeated');
    await api.ended('inbox', 'both-fields');
    const textOf = async (id: string) => (await api.get(`/context/${id}?database=inbox`)).body.data.chunks[0].text;
    expect(await textOf('repeated')).toBe('About zebras.');
    expect(await textOf('both-fields')).toBe('A remark on zebras.\n\nUser: And quaggas?\nAssistant: They are extinct.');
  });

  test('a renamed EXE is E1002 in the response, and the other files are indexed', async () => {
    const exe = Buffer.concat([
      Buffer.from('MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0', 'latin1'),
      Buffer.alloc(4096, 7),
    ]);
    const response = await api.ingest(
      { database: 'inbox', document_metadata: JSON.stringify([{ id: 'renamed' }, { id: 'good' }]) },
      [
        { name: 'report.pdf', content: exe },
        { name: 'good.txt', content: 'A plain text that is fine.' },
      ],
    );
    expect(response.status).toBe(202);
    expect(response.body.data).toMatchObject({
      success_count: 1,
      failed_count: 1,
      results: [
        { id: 'renamed', filename: 'report.pdf', status: 'errored', error_code: 'E1002' },
        { id: 'good', status: 'queued' },
      ],
    });
    expect(await api.ended('inbox', 'good')).toMatchObject({ indexing_status: 'completed' });
    expect(statusAndCode(await api.get('/context/status?database=inbox&id=renamed'))).toEqual([404, 'FILE_NOT_FOUND']);
    const both = await api.get('/context/status?database=inbox&ids=renamed,good');
    expect(both.body.data.statuses).toMatchObject([
      { id: 'renamed', error_code: 'FILE_NOT_FOUND' },
      { id: 'good', indexing_status: 'completed' },
    ]);
  });

  test('an empty file is rejected in the response', async () => {
    const response = await api.ingest({ database: 'inbox' }, [{ name: 'empty.txt', content: '' }]);
    expect(response.body.data).toMatchObject({
      success_count: 0,
      failed_count: 1,
      results: [{ status: 'errored', error_code: 'E2001' }],
    });
  });

  test('damaged and encrypted files end as errored with their code and have a webhook', async () => {
    const pdf = readFileSync('examples/lighthouse-history.pdf');
    await api.ingest(
      { database: 'inbox', document_metadata: JSON.stringify([{ id: 'cut.pdf' }, { id: 'locked.pdf' }]) },
      [
        { name: 'cut.pdf', content: pdf.subarray(0, 400) },
        { name: 'locked.pdf', content: readFileSync('test/fixtures/encrypted.pdf') },
      ],
    );
    expect(await api.ended('inbox', 'cut.pdf')).toMatchObject({ indexing_status: 'errored', error_code: 'E2001' });
    expect(await api.ended('inbox', 'locked.pdf')).toMatchObject({ indexing_status: 'errored', error_code: 'E2002' });
    expect((await receiver.waitFor('webhook', ({ json }) => json.id === 'locked.pdf')).json).toMatchObject({
      status: 'errored',
      error_code: 'E2002',
    });
  });

  test('an item that is replaced twice in a row has only its last version', async () => {
    const versions = [
      'The first version speaks of apples.',
      `The second version speaks of pears. ${'A long text takes longer to index. '.repeat(2_000)}`,
      'The third version speaks of plums.',
    ];
    for (const text of versions) {
      const sent = await api.ingest({
        database: 'inbox',
        upsert: 'true',
        memories: JSON.stringify([{ id: 'racer', text }]),
      });
      expect(sent.status).toBe(202);
    }
    await api.ended('inbox', 'racer');
    await eventually('only the last version', async () => {
      const { chunks } = (await api.post('/query', { database: 'inbox', query: 'version speaks', ids: ['racer'] })).body
        .data;
      const versionsLeft = await withDb(mongodbUri, (db) =>
        db.collection('chunks').distinct('version', { source_id: 'racer' }),
      );
      return chunks.length === 1 && chunks[0].text.includes('plums') && versionsLeft.length === 1;
    });
  });
});
