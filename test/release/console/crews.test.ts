import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { type CrewClient, createCrewClient } from '../../support/crew-client.js';
import { makeKey, sharedProduct } from '../../support/product.js';

const INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels take two working days.' };
const CREW = 'support-reply';

inChromium('crews in the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const tab = consoleDuringTests(apiUrl);
  let keys: { crew: string };
  let crew: CrewClient;
  beforeAll(async () => {
    const { key } = await makeKey(mongodbUri, 'console-crews', 'crew_org');
    keys = { crew: key };
    crew = createCrewClient(apiUrl, CREW, key);
  });

  test('a crew shows its tasks in their order, and its agents', async () => {
    await tab.visit(keys, 'crews');
    await tab.page.getByRole('link', { name: CREW }).first().click();
    await tab.heading(CREW);
    const picture = tab.page.getByRole('region', { name: 'Order of the tasks' });
    await picture.waitFor();
    expect(await picture.locator('.crew-task .name').allTextContents()).toEqual([
      'classify request',
      'draft reply',
      'final reply',
    ]);
    expect(await picture.locator('.crew-edge').count()).toBe(2);
    expect(await picture.getByRole('img').getAttribute('aria-label')).toContain(
      'draft_reply, by reply_writer, receives classify_request, a person decides on its output',
    );
    await tab.shows(tab.page.getByRole('region', { name: 'Agents' }), 'Customer support writer');
    await tab.isFine('crew');
  });

  test('a person starts it with its inputs, sees it pause, approves, and sees its end', async () => {
    await tab.visit(keys, `crews?crew=${CREW}`);
    const form = tab.page.getByRole('region', { name: 'Start an execution' });
    for (const [name, text] of Object.entries(INPUTS)) await form.getByLabel(name.replaceAll('_', ' ')).fill(text);
    await form.getByText('The same request for a script').click();
    const curl = (await form.getByRole('region', { name: 'The request for curl' }).textContent())!;
    await form.getByRole('button', { name: 'Start', exact: true }).press('Enter');

    const drawer = tab.drawer();
    await drawer.getByRole('button', { name: 'Approve' }).waitFor();
    const states = drawer.locator('.crew-task .note');
    expect(await states.allTextContents()).toEqual(['completed', 'waits for a person', 'pending']);
    await tab.isFine('execution-waits');
    await drawer.getByRole('button', { name: 'Approve' }).press('Enter');
    await drawer.getByRole('heading', { name: 'Result' }).waitFor();
    expect(await states.allTextContents()).toEqual(['completed', 'completed', 'completed']);
    await tab.isFine('execution-done');

    const env = { ...process.env, POSTBACK_URL: apiUrl, POSTBACK_CREW_KEY: keys.crew };
    const { stdout } = await promisify(execFile)('bash', ['-euc', curl], { env });
    await crew.approve(JSON.parse(stdout).kickoff_id, 'draft_reply');
  });

  test('a person cancels an execution', async () => {
    const id = await crew.start(INPUTS);
    await crew.reaches(id, 'pending_human_input');
    await tab.visit(keys, `crews?crew=${CREW}&run=${CREW}&id=${id}`);
    await tab.drawer().getByRole('button', { name: 'Cancel' }).click();
    await tab.shows(tab.drawer(), 'The execution was cancelled.');
  });

  test('a key of a user shows what waits, and starts nothing', async () => {
    const { key } = await makeKey(mongodbUri, 'console-crews', 'crew_user');
    await tab.visit({ crew: key }, 'crews');
    await tab.shows(tab.page, 'Nothing waits for you.');
    expect(await tab.page.getByRole('region', { name: 'Executions of crews' }).count()).toBe(0);
  });
});
