import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeAll, expect, test } from '@jest/globals';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { clientDuringTests } from '../../support/during-tests.js';
import { eventually } from '../../support/eventually.js';
import { temporaryFolder } from '../../support/folder.js';
import { sharedProduct } from '../../support/product.js';

inChromium('databases and items in the console', () => {
  const api = clientDuringTests('console-content');
  const { apiUrl } = sharedProduct();
  const console = consoleDuringTests(apiUrl);
  const { shows } = console;
  const drawer = () => console.page.locator('.drawer');
  const dialog = () => console.page.locator('dialog[open]');
  afterEach(async () => {
    await console.page.unrouteAll();
    await console.page.context().setOffline(false);
  });
  const folder = temporaryFolder('console-content');
  const uploads = () => console.page.getByRole('region', { name: 'Uploads', exact: true });
  const uploadOf = (name: string) => uploads().getByRole('listitem').filter({ hasText: name });
  const openItems = (query = '') => console.visit({ api: api.key }, `items${query}`);
  const choose = (files: { name: string; buffer: Buffer; mimeType: string }[]) =>
    console.page.getByLabel('Files', { exact: true }).setInputFiles(files);
  const file = (name: string, content: string | Buffer) => ({
    name,
    mimeType: 'application/octet-stream',
    buffer: Buffer.from(content),
  });

  test('a database is created by keyboard alone, and takes items when it is ready', async () => {
    await openItems();
    await console.page.getByRole('link', { name: 'Create a database' }).focus();
    await console.page.keyboard.press('Enter');
    await dialog().waitFor();
    await console.page.getByLabel('Name').focus();
    await console.page.keyboard.type('shelf');
    await dialog().getByText('Metadata that items must match').click();
    await dialog().getByRole('button', { name: 'Add a field' }).click();
    await dialog().getByLabel('Field', { exact: true }).fill('year');
    await dialog().getByLabel('Type').selectOption('INT32');
    await console.isFine('database-new');
    await console.page.getByLabel('Name').press('Enter');
    await shows(console.page, 'Add items to shelf');
    const { databases } = (await api.get('/databases')).body.data;
    expect(databases).toMatchObject([
      { database: 'shelf', database_metadata_schema: [{ name: 'year', data_type: 'INT32' }] },
    ]);
    await console.page.getByRole('button', { name: 'New database' }).click();
    await dialog().getByLabel('Name').fill('shelf');
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    await shows(dialog(), /already exists/);
  });

  inChromium('with a database', () => {
    beforeAll(() => api.createDatabase('library'));
    const open = () => openItems('?database=library&add=1');

    test('files are sent, followed until they are indexed, and rejected before they are sent', async () => {
      const sent: string[] = [];
      console.page.on('request', (request) => {
        if (request.method() === 'POST' && request.url().endsWith('/context/ingest')) sent.push(request.url());
      });
      await open();
      await choose([
        file('lamp, notes.md', '# Lamp\n\nThe lamp flashes every ten seconds.'),
        file('locked.pdf', readFileSync('test/fixtures/encrypted.pdf')),
        file('film.mp4', Buffer.from([0, 0, 0, 24, 102, 116, 121, 112])),
        file('empty.txt', ''),
      ]);
      await shows(uploadOf('lamp, notes.md'), 'completed');
      await shows(uploadOf('locked.pdf'), 'errored');
      await shows(uploadOf('locked.pdf'), /Remove the password/);
      await shows(uploadOf('film.mp4'), 'Files of the kind .mp4 are not accepted.');
      await shows(uploadOf('empty.txt'), 'The file is empty.');
      await shows(uploads(), '2 of 4 uploads sent, 2 not accepted');
      expect(sent).toHaveLength(2);
      await console.isFine('items-uploads');
      await uploadOf('lamp, notes.md').getByRole('link').click();
      await shows(drawer(), 'The lamp flashes every ten seconds.');
    });

    test('a file that is too large is not sent', async () => {
      await console.page.route('**/usage', async (route) => {
        const response = await route.fetch();
        const body = (await response.json()) as { data: { ingest: { max_file_bytes: number } } };
        body.data.ingest.max_file_bytes = 1_024;
        await route.fulfill({ response, json: body });
      });
      await open();
      await shows(console.page, /^Up to 1.0 KiB each/);
      await choose([file('large.txt', 'x'.repeat(2_048))]);
      await shows(uploadOf('large.txt'), 'The file has 2.0 KiB. A file must not exceed 1.0 KiB.');
    });

    test('a folder keeps its paths as ids, without hidden files', async () => {
      for (const [path, text] of [
        ['tides.md', 'High water is at nine.'],
        ['notes/ferry.txt', 'The ferry leaves at ten.'],
        ['.git/config', 'hidden'],
      ] as const) {
        const written = join(folder, 'harbour', path);
        mkdirSync(dirname(written), { recursive: true });
        writeFileSync(written, text);
      }
      await open();
      await console.page.getByLabel('Folder', { exact: true }).setInputFiles(join(folder, 'harbour'));
      await shows(uploadOf('notes/ferry.txt'), 'completed');
      await shows(uploadOf('tides.md'), 'completed');
      expect(await uploads().getByRole('listitem').count()).toBe(2);
      expect(await api.status('library', 'notes/ferry.txt')).toMatchObject({ indexing_status: 'completed' });
    });

    test('files are dropped on the page, also while nothing is open', async () => {
      await openItems('?database=library');
      await console.page.getByRole('button', { name: 'Add items' }).waitFor();
      const dropped = await console.page.evaluateHandle(`(() => {
        const data = new DataTransfer();
        data.items.add(new File(['The dropped lamp is red.'], 'dropped.md'));
        return data;
      })()`);
      await console.page.dispatchEvent('main', 'dragenter', { dataTransfer: dropped });
      await shows(console.page, 'Drop files or folders to add them to library');
      await console.page.dispatchEvent('main', 'drop', { dataTransfer: dropped });
      await shows(uploadOf('dropped.md'), 'completed');
    });

    test('a note is stored as a memory', async () => {
      await open();
      await console.page.getByLabel('Title (optional)').fill('Ada');
      await console.page.getByLabel('Text', { exact: true }).fill('Ada prefers the reading room.');
      await console.page.getByRole('button', { name: 'Save as a memory' }).click();
      await shows(uploadOf('Ada'), 'completed');
      const { items } = (await api.get('/context/list?database=library&type=memory')).body.data;
      expect(items).toMatchObject([{ title: 'Ada', type: 'memory' }]);
    });

    test('an item that exists is replaced only when the person says so', async () => {
      await open();
      await choose([file('rules.md', 'The first rule.')]);
      await shows(uploadOf('rules.md'), 'completed');
      await uploads().getByRole('button', { name: 'Clear the list' }).click();
      await choose([file('rules.md', 'The second rule.')]);
      await shows(uploadOf('rules.md'), /already exists/);
      await uploadOf('rules.md').getByRole('button', { name: 'Replace it' }).click();
      await shows(uploadOf('rules.md'), 'completed');
      const { chunks } = (await api.get('/context/rules.md?database=library')).body.data;
      expect(chunks).toMatchObject([{ text: 'The second rule.' }]);
    });

    test('a lost connection keeps the list, and a retry sends the rest once', async () => {
      await open();
      await shows(console.page, /^Up to/);
      await console.page.context().setOffline(true);
      await choose([1, 2, 3, 4, 5].map((n) => file(`cut-${n}.txt`, `Cut off ${n}.`)));
      await shows(uploads(), /^5 uploads could not be sent: The server does not respond./);
      await console.page.context().setOffline(false);
      await uploads().getByRole('button', { name: 'Retry' }).click();
      await shows(uploads(), '5 of 5 uploads sent');
      await shows(uploadOf('cut-5.txt'), 'completed');
    });

    test('the list of uploads stays while another page is open', async () => {
      await open();
      await choose([file('kept.txt', 'The list is kept.')]);
      await shows(uploadOf('kept.txt'), 'completed');
      await console.page.getByRole('link', { name: 'Usage' }).click();
      await console.heading('Usage');
      await console.page.getByRole('link', { name: 'Items' }).click();
      await uploadOf('kept.txt').waitFor();
    });

    test('an item shows its text as it was read, its chunks and its graph', async () => {
      const sentences = Array.from(
        { length: 60 },
        (_, n) => `Keeper number ${n + 1} lit the lamp at dusk on that day.`,
      );
      const text = `Ada Lovelace met Charles Babbage in London. ${sentences.join(' ')}`;
      await api.ingest({ database: 'library', memories: JSON.stringify([{ id: 'long', text }]) });
      await api.ended('library', 'long');
      await openItems('?database=library&id=long');
      const passage = drawer().locator('.whole-text .passage');
      await passage.waitFor();
      expect(await passage.textContent()).toBe(text);
      await drawer().getByRole('button', { name: 'Chunks' }).click();
      await eventually('several chunks', async () => (await drawer().locator('.chunk').count()) > 1);
      await drawer().getByRole('button', { name: 'Graph' }).click();
      await drawer().getByRole('button', { name: 'Ada Lovelace, person' }).press('Enter');
      await drawer().getByRole('listitem').filter({ hasText: 'Ada Lovelace met Charles Babbage' }).first().waitFor();
      await console.isFine('item-graph');
    });

    test('an item is deleted after a confirmation', async () => {
      await api.ingest({ database: 'library', memories: '[{"id":"doomed","text":"It will be deleted."}]' });
      await api.ended('library', 'doomed');
      await openItems('?database=library&id=doomed');
      await drawer().getByRole('button', { name: 'Delete' }).click();
      await dialog().waitFor();
      await console.page.keyboard.press('Escape');
      await eventually('the dialog is closed', async () => (await dialog().count()) === 0);
      await drawer().getByRole('button', { name: 'Delete' }).click();
      await dialog().getByRole('button', { name: 'Delete the item' }).click();
      await eventually('the panel is closed', async () => (await drawer().count()) === 0);
      expect((await api.get('/context/doomed?database=library')).status).toBe(404);
    });

    test('what a tenant wrote is text: names of files, titles, texts and metadata', async () => {
      const hostile = '<img src=x onerror="document.title=1"><b>& co';
      await api.ingest({ database: 'library', document_metadata: JSON.stringify([{ id: hostile }]) }, [
        { name: '<img src=x onerror=alert(1)>.md', content: `# ${hostile}\n\n${hostile}` },
      ]);
      await api.ended('library', hostile);
      await openItems('?database=library');
      await console.page.getByRole('link', { name: hostile }).first().click();
      await shows(drawer(), 'Completed');
      await shows(drawer(), '<img src=x onerror=alert(1)>.md');
      expect(await console.page.locator('main img, main b b, .drawer .passage b').count()).toBe(0);
    });

    test('a database is deleted after its name was typed', async () => {
      await api.createDatabase('doomed');
      await openItems('?database=doomed');
      await console.page.getByRole('button', { name: 'Delete the database doomed' }).click();
      const confirm = dialog().getByRole('button', { name: 'Delete the database' });
      await dialog().getByLabel('Type doomed to confirm').fill('dooome');
      expect(await confirm.isDisabled()).toBe(true);
      await dialog().getByLabel('Type doomed to confirm').fill('doomed');
      await confirm.click();
      await eventually('the dialog is closed', async () => (await dialog().count()) === 0);
      await eventually('it is gone', async () => (await api.get('/databases/status?database=doomed')).status === 404);
      expect(await console.page.getByLabel('Database').locator('option', { hasText: 'doomed' }).count()).toBe(0);
    });
  });
});
