import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { SCOPES } from '../../../domain/api-keys.js';
import { consoleDuringTests, inChromium } from '../../support/console-page.js';
import { type CrewClient, createCrewClient } from '../../support/crew-client.js';
import { eventually } from '../../support/eventually.js';
import { makeKey, sharedProduct } from '../../support/product.js';

const INPUTS = { customer_message: 'Where is my parcel?', notes: 'Parcels take two working days.' };
const CREW = 'support-reply';
const ORG = 'console-decisions';

inChromium('decisions of several people in the console', () => {
  const { apiUrl, mongodbUri } = sharedProduct();
  const tab = consoleDuringTests(apiUrl);
  let keys: { crew: string };
  let other: Page;
  let crew: CrewClient;
  beforeAll(async () => {
    const { key } = await makeKey(mongodbUri, ORG, 'crew_org');
    keys = { crew: key };
    crew = createCrewClient(apiUrl, CREW, key);
    other = await tab.open();
  });
  afterAll(() => other?.close());

  const output = (page: Page) => page.getByRole('region', { name: `${CREW}, draft_reply` });

  async function waiting(): Promise<string> {
    const id = await crew.start(INPUTS);
    await crew.reaches(id, 'pending_human_input');
    return id;
  }

  test('who reads an output on which somebody else decides is told who did', async () => {
    await waiting();
    await tab.visit(keys, 'crews');
    await output(tab.page).waitFor();
    const { key } = await makeKey(mongodbUri, ORG, 'crew_user', null, SCOPES, [CREW]);
    await tab.visit({ crew: key }, 'crews', other);
    await output(other).getByRole('button', { name: 'Approve' }).click();
    await tab.shows(other, 'The task is approved');
    await tab.shows(tab.page, /Attempt 1 was approved by the key "/);
    await tab.isFine('decided-by-another');
  });

  test('a decision on an output that was replaced meanwhile does not count for the new output', async () => {
    const id = await waiting();
    await tab.visit(keys, 'crews');
    await output(tab.page).waitFor();
    // The page does not learn of it in time.
    const list = '**/crews/waiting?*';
    await tab.page.route(list, () => undefined);
    await crew.resume(id, { task_id: 'draft_reply', is_approve: false, human_feedback: 'Name the day.' });
    await crew.reaches(id, 'pending_human_input', { task: 'draft_reply', count: 2 });
    await output(tab.page).getByRole('button', { name: 'Approve' }).click();
    await tab.shows(tab.page, /not waiting for human input on attempt 1 .* rejected by the key "/);
    await tab.page.unroute(list);
    expect((await crew.status(id)).status).toBe('pending_human_input');
    await crew.approve(id, 'draft_reply');
  });

  test('an older answer that comes after a decision does not bring the output back', async () => {
    await waiting();
    await tab.visit(keys, 'crews');
    await output(tab.page).waitFor();
    const list = '**/crews/waiting?*';
    const older: (() => Promise<void>)[] = [];
    let isDecided = false;
    await tab.page.route(list, async (route) => {
      if (isDecided) return route.fallback();
      const response = await route.fetch();
      older.push(() => route.fulfill({ response }));
    });
    await tab.look();
    await eventually('an answer from before the decision', () => older.length > 0);
    isDecided = true;
    await output(tab.page).getByRole('button', { name: 'Approve' }).click();
    await output(tab.page).waitFor({ state: 'detached' });
    const late = tab.page.waitForResponse(list);
    await older[0]!();
    await (await late).finished();
    await tab.caughtUp();
    expect(await output(tab.page).count()).toBe(0);
    await tab.shows(tab.page, 'The task is approved');
    await tab.page.unroute(list);
  });

  test('an execution shows how each decision was made', async () => {
    const id = await waiting();
    const { review_url } = await crew.status(id);
    await other.goto(review_url);
    await other.getByLabel('Feedback').fill('Name the day.');
    await other.getByRole('button', { name: 'Reject' }).click();
    await tab.shows(other, 'Thank you.');
    await tab.visit(keys, `crews?run=${CREW}&id=${id}`);
    await tab.shows(tab.drawer(), 'Attempt 1 was rejected with a review link.');
    await crew.approve(id, 'draft_reply');
    await tab.shows(tab.drawer(), /Attempt 2 was approved by the key "/);
    await other.reload();
    await tab.shows(other, /This output was rejected with a review link, on/);
  });
});
