import { beforeAll, describe, expect, test } from '@jest/globals';
import { bomb, docx } from '../fixtures/made-files.js';
import { clientDuringTests, receiverDuringTests } from '../support/during-tests.js';

describe('hostile files', () => {
  const database = 'hostile';
  const api = clientDuringTests('hostile-files');
  const receiver = receiverDuringTests(api);
  beforeAll(() => api.createDatabase(database));

  test('each ends with its reason and its webhook, and a note beside them completes', async () => {
    const files = [
      { name: 'bomb.docx', content: docx(await bomb(400)) },
      { name: 'nested.html', content: `<!doctype html><body>${'<div>'.repeat(200_000)}deep` },
      { name: 'nested.json', content: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` },
    ];
    const document_metadata = JSON.stringify(files.map(({ name }) => ({ id: name })));
    expect((await api.ingest({ database, document_metadata }, files)).status).toBe(202);
    await api.ingest({ database, memories: '[{"id":"note","text":"The lamp was lit tonight."}]' });
    expect(await api.ended(database, 'note')).toMatchObject({ indexing_status: 'completed' });
    for (const { name } of files) {
      expect(await api.ended(database, name)).toMatchObject({ indexing_status: 'errored', error_code: 'E2003' });
      await receiver.waitFor('the webhook', ({ json }) => json.id === name && json.error_code === 'E2003');
    }
  });

  test('a text longer than what a worker reads itself is divided completely', async () => {
    const text = `The lamp was lit.${'\n'.repeat(70_000)}${'图。'.repeat(3_000)}\n\nThe lamp went out.`;
    await api.ingest({ database, memories: JSON.stringify([{ id: 'long', text }]) });
    expect(await api.ended(database, 'long')).toMatchObject({ indexing_status: 'completed' });
    const { chunks } = (await api.get(`/context/long?database=${database}&limit=100`)).body.data;
    expect(chunks.length).toBeGreaterThan(10);
    expect(chunks[0].text).toContain('The lamp was lit.');
    expect(chunks.at(-1).text).toContain('The lamp went out.');
  });
});
