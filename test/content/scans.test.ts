import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { SUPERSEDED } from '../../domain/content/workflow-contract.js';
import { OCR_LANGUAGES } from '../../domain/ocr-languages.js';
import { workflowIds } from '../../temporal/workflow-ids.js';
import { workbook } from '../fixtures/made-sheets.js';
import { mixedPdf, scan, scannedPdf } from '../fixtures/scanned-files.js';
import { clientDuringTests, collectionsDuringTests, temporalDuringTests } from '../support/during-tests.js';
import { eventually } from '../support/eventually.js';
import { registeredReceiver } from '../support/organisation.js';
import { sharedProduct } from '../support/product.js';

describe('ingesting scans', () => {
  const { mongodbUri } = sharedProduct();
  const org = 'scans';
  const api = clientDuringTests(org);
  const collections = collectionsDuringTests(mongodbUri);
  const temporal = temporalDuringTests();
  beforeAll(() => api.createDatabase('archive'));

  async function ingest(id: string, name: string, content: Uint8Array | string, fields: Record<string, string> = {}) {
    const document_metadata = JSON.stringify([{ id }]);
    const response = await api.ingest({ database: 'archive', document_metadata, ...fields }, [{ name, content }]);
    expect(response.body.data).toMatchObject({ success_count: 1 });
    return (await collections.items.findOne({ org, id }))!;
  }
  const checkpointsOf = (item: string, version = 1) =>
    collections.checkpoints.find({ owner: `${item}/${version}` }).toArray();
  const chunksOf = (item: string, version: number) =>
    collections.chunks.find({ item, version }).sort({ ordinal: 1 }).toArray();
  const pages = (words: string[]) =>
    Promise.all(words.map((word) => scan([`This is page ${word} of the log`, 'The lamp was lit at dusk'])));

  test('the scan of an item that is deleted is stopped, and its webhook reports E2005', async () => {
    const receiver = await registeredReceiver(api);
    const content = scannedPdf(await pages(Array(12).fill('some')));
    const item = await ingest('dropped', 'dropped.pdf', content);
    const { _id } = item;
    await eventually('a page read', async () => (await checkpointsOf(_id)).length >= 1);
    expect((await api.del('/context?database=archive&id=dropped')).status).toBe(200);
    const handle = temporal.workflow.getHandle(workflowIds.item(item));
    expect(await handle.result()).toBe(SUPERSEDED);
    const { json } = await receiver.waitFor('the webhook', ({ json }) => json.id === 'dropped');
    expect(json).toMatchObject({ status: 'errored', error_code: 'E2005' });
    expect(await chunksOf(_id, 1)).toEqual([]);
    expect(await checkpointsOf(_id)).toEqual([]);
    await api.del('/webhooks/indexing');
    await receiver.close();
  });

  test('the scan of an item that is replaced is stopped', async () => {
    const item = await ingest('ledger', 'ledger.pdf', scannedPdf(await pages(Array(12).fill('some'))));
    const { _id } = item;
    await eventually('a page read', async () => (await checkpointsOf(_id)).length >= 1);
    await ingest('ledger', 'ledger.txt', 'The ledger was typed in.', { upsert: 'true' });
    const first = temporal.workflow.getHandle(workflowIds.item(item));
    expect(await first.result()).toBe(SUPERSEDED);
    expect(await chunksOf(_id, 1)).toEqual([]);
    expect(await checkpointsOf(_id)).toEqual([]);
    expect(await api.ended('archive', 'ledger')).toMatchObject({ indexing_status: 'completed' });
    expect((await chunksOf(_id, 2)).map(({ text }) => text)).toEqual(['The ledger was typed in.']);
  });

  test('a scan that is rejected leaves no checkpoints', async () => {
    const blank = await scan(Array(6).fill(''));
    const { _id } = await ingest('blank', 'blank.pdf', scannedPdf([blank, blank]));
    expect(await api.ended('archive', 'blank')).toMatchObject({ indexing_status: 'errored', error_code: 'E2004' });
    expect(await checkpointsOf(_id)).toEqual([]);
  });

  test('a picture is read in the language of its request; another language is a 422 that lists those that can be read', async () => {
    const picture = readFileSync('test/fixtures/scripts/uk.png');
    const { _id } = await ingest('sign', 'sign.png', picture, { language: 'uk' });
    expect(await api.ended('archive', 'sign')).toMatchObject({ indexing_status: 'completed' });
    expect((await chunksOf(_id, 1)).map(({ text }) => text)).toEqual([
      'Гавань зачинена до ранку.\nСвітло маяка видно здалеку.',
    ]);
    const files = [{ name: 'sign.png', content: picture }];
    const document_metadata = JSON.stringify([{ language: 'tlh' }]);
    const requests: Record<string, string>[] = [{ language: 'tlh' }, { document_metadata }];
    for (const fields of requests) {
      const { status, body } = await api.ingest({ database: 'archive', ...fields }, files);
      expect([status, body.error?.code]).toEqual([422, 'VALIDATION_ERROR']);
      for (const language of OCR_LANGUAGES) expect(body.error?.message).toContain(language);
    }
  });

  test('a hit has its page, slide or sheet, and its headings', async () => {
    const written = ['The harbour office opens at seven each morning.', 'It closes when the last ferry has left.'];
    const mixed = mixedPdf([written, (await pages(['two']))[0]!], {
      bookmarks: [
        ['Opening hours', 1],
        ['Lamp log', 2],
      ],
    });
    const fees = [
      ['Ship', 'Fee'],
      ['Astrid', 40],
      ['Freja', 55],
    ];
    await ingest('mixed', 'mixed.pdf', mixed);
    await ingest('fees', 'fees.xlsx', workbook([{ name: 'Berths', rows: fees }]));
    await ingest('plan', 'plan.pptx', readFileSync('test/fixtures/plan.pptx'));
    for (const id of ['mixed', 'fees', 'plan'])
      expect(await api.ended('archive', id)).toMatchObject({ indexing_status: 'completed' });
    const placeOf = async (query: string, id: string) =>
      (await api.post('/query', { database: 'archive', query, ids: [id] })).body.data.chunks[0].location;
    expect(await placeOf('When does the office open?', 'mixed')).toEqual({ page: 1, headings: ['Opening hours'] });
    expect(await placeOf('When was the lamp lit?', 'mixed')).toEqual({ page: 2, headings: ['Lamp log'] });
    expect(await placeOf('What does Freja pay?', 'fees')).toEqual({ sheet: 'Berths', rows: [2, 3] });
    expect(await placeOf('silt', 'plan')).toMatchObject({ slide: 2, slide_title: expect.any(String) });
  });
});
