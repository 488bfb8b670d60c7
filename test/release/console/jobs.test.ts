import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { scan, scannedPdf } from '../../fixtures/scanned-files.js';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { compileTypescript, withPackages } from '../../support/docs-packages.js';
import { eventually } from '../../support/eventually.js';
import { createJobClient, type JobClient } from '../../support/job-client.js';
import { makeKey, sharedProduct } from '../../support/product.js';

const NOTICE = ['Harbour notice of the second of March', 'The southern breakwater is closed'];
const TABLE = ['Ship\tBerth\tTons', 'Heron\tNorth\t120', 'Petrel\tSouth\t95'];
const PEOPLE = 'Ingrid Halvorsen of the Vestby Harbour Board met Anders Moe in Oslo on 2 March 2026.';

interface Canvas {
  width: number;
  height: number;
  getContext(kind: '2d'): { getImageData(x: number, y: number, width: number, height: number): { data: Uint8Array } };
}

/** The darkest grey that is drawn. */
function darkestOf(element: unknown): number {
  const canvas = element as Canvas;
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  // A canvas on which nothing is drawn is black and transparent.
  return data.reduce(
    (darkest, value, index) => (index % 4 === 0 && data[index + 3] === 255 ? Math.min(darkest, value) : darkest),
    255,
  );
}

inChromium('AI jobs in the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const tab = consoleDuringTests(apiUrl);
  let key: string;
  let jobs: JobClient;
  beforeAll(async () => {
    ({ key } = await makeKey(mongodbUri, 'console-jobs'));
    jobs = createJobClient(apiUrl, key);
  });
  const visit = (path: string) => tab.visit({ api: key }, path);

  /** Runs a job, and opens it. */
  async function open(model: string, input: object): Promise<void> {
    const { job_id } = await jobs.finished(await jobs.submit(model, input));
    await visit(`jobs?id=${job_id}`);
    await tab.drawer().getByText('succeeded').or(tab.drawer().getByText('success')).first().waitFor();
  }
  const upload = async (name: string, content: Buffer) => (await jobs.upload(name, content)).body.file_id as string;

  test('an empty list offers a new job, which a person fills in and submits by keyboard', async () => {
    await visit('jobs');
    await tab.page.locator('.empty').getByRole('link', { name: 'New job' }).press('Enter');
    await tab.heading('New job');
    const feature = tab.page.getByLabel('Feature');
    await feature.waitFor();
    await tab.isFine('new-job');
    await feature.selectOption('text/language_detection/eld');
    await tab.page.getByLabel('Text', { exact: true }).focus();
    await tab.page.keyboard.press('Shift+Tab');
    await tab.page.keyboard.press('Tab');
    await tab.page.keyboard.type('Die Bibliothek öffnet um neun Uhr.');
    await tab.page.getByRole('button', { name: 'Submit' }).press('Enter');
    await tab.shows(tab.drawer(), 'German');
    await tab.isFine('job-language');
  });

  test('a job without its text or file is not submitted', async () => {
    await visit('jobs?new=text/summarize/wink');
    await tab.page.getByRole('button', { name: 'Submit' }).click();
    await tab.shows(tab.page, 'Type a text first.');
    await tab.page.getByRole('button', { name: 'File' }).click();
    await tab.page.getByRole('button', { name: 'Submit' }).click();
    await tab.shows(tab.page, 'Choose a file first.');
  });

  test('the list shows the state of a job with a long text, also on a narrow screen', async () => {
    await jobs.finished(await jobs.submit('text/language_detection/eld', { text: 'ein sehr langer Text '.repeat(30) }));
    await visit('jobs');
    await tab.shows(tab.page, /^ein sehr langer Text/);
    await tab.isFine('jobs-long');
    await tab.page.setViewportSize({ width: 400, height: 900 });
    // A table hides what does not fit.
    await eventually('the table fits', () =>
      tab.page.evaluate<boolean>(
        `[...document.querySelectorAll('.table')].every((each) => each.scrollWidth <= each.clientWidth)`,
      ),
    );
    await tab.page.setViewportSize({ width: 1400, height: 900 });
  });

  test('a file is read, and its text is beside its picture', async () => {
    await visit('jobs?new=ocr/ocr_async/tesseract');
    await tab.page.getByLabel('File', { exact: true }).setInputFiles('examples/notice-board.png');
    await tab.page.getByRole('button', { name: 'Submit' }).click();
    const picture = tab.drawer().getByRole('img', { name: 'Page 1 of the file' });
    await picture.waitFor();
    const lines = tab.drawer().locator('.ocr-lines p');
    type Image = { decode(): Promise<void>; naturalWidth: number };
    const width = await picture.evaluate((image) =>
      (image as unknown as Image).decode().then(() => (image as unknown as Image).naturalWidth),
    );
    expect(width).toBeGreaterThan(0);
    await lines.first().hover();
    expect(await tab.drawer().locator('.page-picture rect.chosen').count()).toBe(1);
    expect(await tab.drawer().locator('.page-picture rect').count()).toBe(await lines.count());
    await tab.isFine('job-ocr');
  });

  test('the callback of an ended job is read again until it has ended, too', async () => {
    const [events, callbacks] = ['**/events', '**/v3/ai/callbacks?*'];
    const callback = { delivery_id: 'dlv_a', status: 'sweeping', updated_at: new Date().toISOString() };
    await tab.page.route(callbacks, (route) => route.fulfill({ json: { deliveries: [callback], next_cursor: null } }));
    // An event that arrives while the page loads the job lets it load the job once more in any case.
    await tab.page.route(events, (route) => route.fulfill({ status: 429 }));
    await open('text/language_detection/eld', { text: 'Der Hafen ist geschlossen.' });
    const state = tab.drawer().locator('.rows .state');
    await tab.shows(state, 'sending');
    callback.status = 'delivered';
    await tab.look();
    await tab.shows(state, 'delivered');

    const read: string[] = [];
    tab.page.on('request', (request) => read.push(new URL(request.url()).pathname));
    const list = tab.page.waitForResponse('**/v3/ai/async?*');
    await tab.look();
    await list;
    expect(read).toContain('/v3/ai/async');
    expect(read.filter((path) => path.startsWith('/v3/ai/async/'))).toEqual([]);
    await Promise.all([tab.page.unroute(events), tab.page.unroute(callbacks)]);
  });

  test('pages of a PDF are drawn beside their text', async () => {
    const pages = await Promise.all([scan(NOTICE), scan(['Signed by Ingrid Halvorsen'])]);
    await open('ocr/ocr_async/tesseract', { file: await upload('notice.pdf', scannedPdf(pages)) });
    const text = tab.drawer().getByRole('region', { name: /^Text of page/ });
    await tab.shows(text, 'The southern breakwater is closed');
    const canvas = tab.drawer().locator('canvas');
    await eventually('the page is drawn', async () => (await canvas.evaluate(darkestOf)) < 100);
    await tab.drawer().getByRole('button', { name: 'Next' }).click();
    await tab.shows(text, 'Signed by Ingrid Halvorsen');
    await tab.isFine('job-pdf');
  });

  test('tables are tables', async () => {
    const { jpeg } = await scan(TABLE);
    await open('ocr/ocr_tables_async/tesseract', { file: await upload('berths.jpg', jpeg) });
    const table = tab.drawer().getByRole('region', { name: 'Table 1 of page 1' });
    await tab.shows(table.getByRole('columnheader'), 'Berth');
    await tab.shows(table.getByRole('cell'), 'Petrel');
    await tab.isFine('job-tables');
  });

  test('entities are marked in their text, as text', async () => {
    await open('text/named_entity_recognition/wink', { text: `${PEOPLE} <img src=x onerror=alert(1)>` });
    const text = tab.drawer().getByRole('region', { name: 'The text with its entities' });
    await tab.shows(text, '<img src=x onerror=alert(1)>');
    expect(await text.locator('mark', { hasText: 'Ingrid Halvorsen' }).textContent()).toBe('Ingrid Halvorsenperson');
    expect(await text.locator('img').count()).toBe(0);
    await tab.isFine('job-entities');
  });

  test.each<[string, object, string]>([
    [
      'text/sentiment_analysis/wink',
      { text: 'What a wonderful day. The soup was terrible.' },
      'The soup was terrible.',
    ],
    ['text/keyword_extraction/wink', { text: `${PEOPLE} The harbour board keeps the harbour.` }, 'harbour'],
    ['text/summarize/wink', { text: PEOPLE, sentences: 1 }, PEOPLE],
  ])('%s has a view of its own', async (model, input, shown) => {
    await open(model, input);
    await tab.shows(tab.drawer().locator('.job-result'), shown);
    await tab.isFine(`job-${model.split('/')[1]}`);
  });

  test('a document is shown by its sections', async () => {
    const file = await upload('keeper-handbook.docx', readFileSync('examples/keeper-handbook.docx'));
    await open('document/text_extraction/local', { file });
    const text = tab.drawer().getByRole('region', { name: 'Text of the document' });
    await text.locator('.section-place strong').first().waitFor();
    await tab.isFine('job-document');
  });

  test('a file that is too large is refused before it is sent', async () => {
    const models = '**/v3/ai/models';
    await tab.changeAnswers(models, (json) => ({ ...json, max_file_bytes: 1_000 }));
    await visit('jobs?new=ocr/ocr_async/tesseract');
    const sent: string[] = [];
    tab.page.on('request', (request) => sent.push(new URL(request.url()).pathname));
    await tab.page.getByLabel('File', { exact: true }).setInputFiles('examples/notice-board.png');
    await tab.shows(tab.page, 'notice-board.png has 38.8 KiB. This server takes files up to 1000 B.');
    await tab.page.getByRole('button', { name: 'Submit' }).click();
    await tab.shows(tab.page, 'Choose a file first.');
    expect(sent).not.toContain('/v3/upload');
    await tab.page.unroute(models);
  });

  test('the same request is copied, and runs, with curl and with the typed client', async () => {
    await visit('jobs?new=document/text_extraction/local');
    await tab.page.getByLabel('File', { exact: true }).setInputFiles('examples/visitor-notes.md');
    const copied = async (language: string) => {
      await tab.page.getByRole('button', { name: language, exact: true }).click();
      await tab.page.evaluate("navigator.clipboard.writeText('nothing')");
      // By its class: for a moment the button says that it has copied, which a test on a busy machine does not see.
      await tab.page.locator('.samples button.copy').click();
      return eventually(`the request for ${language}`, () =>
        tab.page.evaluate<string>('navigator.clipboard.readText()').then((text) => text !== 'nothing' && text),
      );
    };
    const [curl, typescript] = [await copied('curl'), await copied('TypeScript')];
    const env = { ...process.env, POSTBACK_URL: apiUrl, POSTBACK_KEY: key };
    const shell = await promisify(execFile)('bash', ['-euc', curl], { cwd: resolve('examples'), env });
    const { job_id } = JSON.parse(shell.stdout);
    expect((await jobs.finished({ status: 202, body: { job_id } })).output.text).toContain('ferry');

    const folder = mkdtempSync(join(tmpdir(), 'postback-sample-'));
    withPackages(folder);
    writeFileSync(join(folder, 'visitor-notes.md'), readFileSync('examples/visitor-notes.md'));
    writeFileSync(join(folder, 'sample.ts'), typescript);
    await compileTypescript(folder, ['sample.ts']);
    const { stdout } = await promisify(execFile)(process.execPath, ['sample.js'], { cwd: folder, env });
    expect(stdout).toContain('ferry');
    rmSync(folder, { recursive: true });
  });
});
