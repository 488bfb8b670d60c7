import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeDevelopmentFile } from '../../cli/data-folder.js';
import { createClient } from '../support/client.js';
import { type CommandResult, runCommand } from '../support/command.js';
import { createCrewClient } from '../support/crew-client.js';
import { eventually } from '../support/eventually.js';
import { createJobClient } from '../support/job-client.js';
import { makeKey, sharedProduct } from '../support/product.js';

const { apiUrl, mongodbUri, temporalAddress } = sharedProduct();
/** The organisation of the demo, and the keys that `npm start` creates, which the demo does not use. */
const org = 'demo';
const UNUSED_KEYS = { api: '', crew_org: '', crew_user: '', payment_secret: '', payment_publishable: '' };

describe('npm run demo, on the instance of this folder', () => {
  const folder = mkdtempSync(join(tmpdir(), 'postback-test-demo-'));
  let result: CommandResult;
  let shown: string;

  beforeAll(async () => {
    writeDevelopmentFile(folder, {
      api_url: apiUrl,
      temporal_ui_url: 'http://127.0.0.1:8233',
      temporal_address: temporalAddress,
      mongodb_uri: mongodbUri,
      keys: UNUSED_KEYS,
    });
    result = await runCommand(['demo'], { POSTBACK_DATA_DIR: folder });
    shown = stripVTControlCharacters(result.out);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test('uses the instance that runs, and ends well', () => {
    expect([result.code, result.err]).toEqual([0, '']);
    expect(shown).toMatch(`Using the instance at ${apiUrl}`);
  });

  test('shows each file until it is completed, its webhook, and what a query finds', async () => {
    const examples = readdirSync('examples').filter((name) => name !== 'README.md');
    expect(examples).toHaveLength(5);
    for (const name of examples) {
      expect(shown).toMatch(new RegExp(`✓ ${name} .*completed`));
    }
    expect(shown).toMatch('5 webhooks received, HMAC-SHA256 verified');
    expect(shown).toMatch('flashes twice every twelve seconds');

    const api = createClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const [, database] = /database (demo-\w+)/.exec(shown)!;
    const { data } = (await api.get(`/webhooks/indexing/deliveries?database=${database}`)).body;
    expect(data.deliveries.map((each: { status: string }) => each.status)).toEqual(Array(5).fill('delivered'));
    expect((await api.get('/webhooks/indexing')).body.data.registered).toBe(false);
  });

  test('shows an AI job whose receiver fails twice, and each attempt at its callback', async () => {
    expect(shown).toMatch(/attempt 1: the receiver responded with 503/);
    expect(shown).toMatch(/attempt 2: the receiver responded with 503/);
    expect(shown).toMatch(/attempt 3: the receiver responded with 204, RSA signature verified/);
    expect(shown).toMatch('The ferry Astrid leaves the rock at 16:40.');

    const jobs = createJobClient(apiUrl, (await makeKey(mongodbUri, org)).key);
    const { deliveries } = (await jobs.get('/v3/ai/callbacks?limit=1')).body;
    const { status, attempt_log } = (await jobs.get(`/v3/ai/callbacks/${deliveries[0].delivery_id}`)).body;
    expect([status, attempt_log.map((each: { status_code: number }) => each.status_code)]).toEqual([
      'delivered',
      [503, 503, 204],
    ]);
  });

  test('shows a crew that waits for a person, is approved, and completes', async () => {
    expect(shown).toMatch(/draft_reply waits for a person; the callback says so, HMAC-SHA256 verified/);
    expect(shown).toMatch(/approved: “Good\. Thank the customer for waiting\.”/);
    expect(shown).toMatch('the crew has completed, and its last callback is verified');

    const crew = createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, 'crew_org')).key);
    // The demo has received the last callback, but the product may not have stored the answer to it yet.
    await eventually('the callbacks of the crew are delivered', async () => {
      const { body } = await crew.get('/crews/support-reply/callbacks?status=delivered');
      const events = body.deliveries.map((each: { event_type: string }) => each.event_type);
      expect(events).toEqual(expect.arrayContaining(['task_completed', 'task_pending_human_input', 'crew_completed']));
      return true;
    });
  });

  test('revokes its keys', async () => {
    const { out } = await runCommand(['keys', 'list', '--org', org, '--json'], { POSTBACK_DATA_DIR: folder });
    const ofDemo = JSON.parse(out).keys.filter((key: { label: string }) => key.label === 'npm run demo');
    expect(ofDemo.map((key: { state: string }) => key.state)).toEqual(['revoked', 'revoked']);
  });
});
