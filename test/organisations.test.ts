import { describe, expect, test } from '@jest/globals';
import { readConfig } from '../runtime/config.js';
import { createClient, statusAndCode } from './support/client.js';
import { makeKey, OPERATOR_TOKEN, sharedProduct, startApi } from './support/product.js';

const { apiUrl, mongodbUri } = sharedProduct();
const operator = createClient(apiUrl, OPERATOR_TOKEN);

interface Organisation {
  organisation: string;
  active_keys: number;
}

/** Reads all pages. */
async function listAll(limit: number): Promise<Organisation[]> {
  const all: Organisation[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const { data }: { data: { organisations: Organisation[]; next_cursor: string | null } } = (
      await operator.get(`/operator/organisations?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
    ).body;
    all.push(...data.organisations);
    cursor = data.next_cursor;
  }
  return all;
}

describe('the token of the operator', () => {
  test.each([
    ['none', ''],
    ['of another length', OPERATOR_TOKEN.slice(1)],
    ['with another end', `${OPERATOR_TOKEN.slice(0, -1)}X`],
    ['with more', `${OPERATOR_TOKEN}0`],
    ['that is very long', 'x'.repeat(4_000)],
  ])('%s is 401', async (_, token) => {
    const client = createClient(apiUrl, token);
    for (const response of [
      await client.get('/operator/organisations'),
      await client.post('/operator/organisations', { organisation: 'never' }),
    ]) {
      expect(statusAndCode(response)).toEqual([401, 'UNAUTHORIZED']);
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
    }
  });

  test('is not the key of an organisation, which opens nothing here', async () => {
    const { key } = await makeKey(mongodbUri, 'operated');
    expect((await createClient(apiUrl, key).get('/operator/organisations')).status).toBe(401);
    expect((await operator.get('/keys')).status).toBe(401);
  });

  test('that is not set leaves nothing there', async () => {
    const off = await startApi(sharedProduct(), {});
    try {
      for (const token of [OPERATOR_TOKEN, '']) {
        const client = createClient(off.apiUrl, token);
        expect(statusAndCode(await client.get('/operator/organisations'))).toEqual([404, 'NOT_FOUND']);
        const created = await client.post('/operator/organisations', { organisation: 'never' });
        expect(statusAndCode(created)).toEqual([404, 'NOT_FOUND']);
      }
    } finally {
      await off.stop();
    }
    expect((await listAll(100)).map(({ organisation }) => organisation)).not.toContain('never');
  });

  test('is limited like failed logins', async () => {
    const limited = await startApi(sharedProduct(), {
      POSTBACK_OPERATOR_TOKEN: OPERATOR_TOKEN,
      POSTBACK_FAILED_LOGINS_PER_MINUTE: '3',
    });
    try {
      const guess = async () => (await createClient(limited.apiUrl, 'a-guess').get('/operator/organisations')).status;
      expect([await guess(), await guess(), await guess(), await guess()]).toEqual([401, 401, 401, 429]);
    } finally {
      await limited.stop();
    }
  });

  test.each(['short', 'x'.repeat(31), `${'x'.repeat(31)} y`, `${'x'.repeat(40)}é`])('%p stops the start', (token) => {
    expect(() => readConfig({ POSTBACK_OPERATOR_TOKEN: token })).toThrow(/POSTBACK_OPERATOR_TOKEN: must have 32/);
  });
});

describe('an organisation that an operator creates', () => {
  test('has a first key, with which it manages its keys, and sees who created it', async () => {
    const { status, body } = await operator.post('/operator/organisations', { organisation: 'new-org', label: 'Ada' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      organisation: 'new-org',
      key: { kind: 'api', label: 'Ada', scopes: ['read', 'write', 'admin'], created_by: null, state: 'active' },
    });
    const first = createClient(apiUrl, body.data.key.key);
    expect((await first.post('/keys', { kind: 'crew_org', label: 'crews', scopes: ['read', 'write'] })).status).toBe(
      201,
    );
    const { entries } = (await first.get('/audit')).body.data;
    expect(entries.at(-1)).toMatchObject({
      action: 'organisation.created',
      actor: { type: 'operator', key_id: null, label: null },
      subject: { id: body.data.key.id, name: 'new-org' },
      address: '127.0.0.1',
      done: true,
    });
    expect((await first.get('/usage')).body.data.organisation).toBe('new-org');
  });

  test('is created once, also by requests at the same time, and not where keys exist', async () => {
    const create = () => operator.post('/operator/organisations', { organisation: 'contested' });
    const statuses = (await Promise.all(Array.from({ length: 6 }, create))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([201, 409, 409, 409, 409, 409]);
    await makeKey(mongodbUri, 'by-command', 'payment_secret', new Date(0));
    const taken = await operator.post('/operator/organisations', { organisation: 'by-command' });
    expect(statusAndCode(taken)).toEqual([409, 'ORGANISATION_ALREADY_EXISTS']);
  });

  test('is listed with the others, by name', async () => {
    for (const org of ['enumerated-b', 'enumerated-a', 'enumerated ü']) {
      await makeKey(mongodbUri, org);
      await makeKey(mongodbUri, org, 'api', new Date(0));
    }
    const all = await listAll(3);
    const names = all.map(({ organisation }) => organisation);
    expect(names.filter((name) => name.startsWith('enumerated'))).toEqual([
      'enumerated ü',
      'enumerated-a',
      'enumerated-b',
    ]);
    expect(new Set(names).size).toBe(names.length);
    expect(all.find(({ organisation }) => organisation === 'enumerated-a')?.active_keys).toBe(1);
  });

  test.each([
    [422, { organisation: '' }],
    [422, { organisation: '(operator)' }],
    [422, { organisation: 'a b' }],
    [422, { organisation: 'x'.repeat(65) }],
    [422, { organisation: { $gt: '' } }],
    [422, { organisation: 'valid', label: 'a\u0007' }],
    [422, { organisation: 'valid', expires_at: '2001-01-31T00:00:00Z' }],
    [422, { organisation: 'valid', scopes: ['read'] }],
    [400, {}],
  ])('%p for %p', async (status, body) => {
    expect((await operator.post('/operator/organisations', body)).status).toBe(status);
  });
});
