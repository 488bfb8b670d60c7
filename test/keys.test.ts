import { beforeAll, describe, expect, test } from '@jest/globals';
import { KEY_KINDS, SCOPES, type Scope } from '../domain/api-keys.js';
import { type Client, createClient, statusAndCode } from './support/client.js';
import { clientDuringTests } from './support/during-tests.js';
import { eventually } from './support/eventually.js';
import { clientOf } from './support/organisation.js';
import { makeKey, sharedProduct, startApi, withDb } from './support/product.js';

const { apiUrl, mongodbUri } = sharedProduct();

const PREFIXES = {
  api: 'pbk_api_',
  crew_org: 'pbk_crew_',
  crew_user: 'pbk_crewuser_',
  payment_secret: 'pbk_sk_',
  payment_publishable: 'pbk_pk_',
};

/** Where a key of each kind is accepted. */
const READS: Record<keyof typeof PREFIXES, [path: string, header: string]> = {
  api: ['/databases', 'authorization'],
  crew_org: ['/crews', 'authorization'],
  crew_user: ['/crews/waiting', 'authorization'],
  payment_secret: ['/authentication', 'api-key'],
  payment_publishable: ['/authentication/none/eligibility-check', 'api-key'],
};

interface Created {
  id: string;
  key: string;
  prefix: string;
}

async function create(api: Client, fields: object = {}): Promise<Created> {
  const { status, body } = await api.post('/keys', { kind: 'api', label: 'made', scopes: ['read'], ...fields });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.data;
}

const setFields = (id: string, fields: object) =>
  withDb(mongodbUri, (db) => db.collection<{ _id: string }>('api_keys').updateOne({ _id: id }, { $set: fields }));
const record = (id: string) =>
  withDb(mongodbUri, (db) =>
    db.collection<{ _id: string; last_used_at: Date | null }>('api_keys').findOne({ _id: id }),
  );
const isAccepted = async (key: string) => (await createClient(apiUrl, key).get('/databases')).status === 200;

describe('a key that is created over HTTP', () => {
  const api = clientDuringTests('keys');

  test.each(KEY_KINDS)('of kind %s is shown once, stored as a hash, and works', async (kind) => {
    const { status, body } = await api.post('/keys', { kind, label: `for ${kind}`, scopes: ['read'] });
    expect(status).toBe(201);
    const { key, message, ...described } = body.data;
    expect(key).toMatch(new RegExp(`^${PREFIXES[kind]}[\\w-]{43}$`));
    expect(message).toContain('cannot be read again');
    expect(described).toMatchObject({ kind, label: `for ${kind}`, scopes: ['read'], state: 'active', current: false });

    const [path, header] = READS[kind];
    const value = header === 'api-key' ? key : `Bearer ${key}`;
    const used = await fetch(apiUrl + path, { headers: { [header]: value, 'API-Version': '2' } });
    // The check of an authentication that does not exist is not found, or not allowed, as with every publishable key.
    expect(used.status).toBe(kind === 'payment_publishable' ? 401 : 200);

    const { keys } = (await api.get(`/keys?kind=${kind}`)).body.data;
    expect(keys[0]).toMatchObject({ id: described.id, prefix: key.slice(0, PREFIXES[kind].length + 4) });
    const listed = JSON.stringify(keys);
    const stored = await withDb(mongodbUri, async (db) => {
      const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);
      return JSON.stringify(
        await Promise.all(
          ['api_keys', ...names.filter((name) => /audit|idempotency/.test(name))].map((name) =>
            db.collection(name).find().toArray(),
          ),
        ),
      );
    });
    const secret = key.slice(PREFIXES[kind].length + 4);
    expect([listed.includes(secret), stored.includes(secret)]).toEqual([false, false]);
  });

  test('has no scope that the asking key does not have', async () => {
    const own: Scope[][] = [['admin'], ['read', 'admin'], ['write', 'admin'], [...SCOPES]];
    for (const scopes of own) {
      const asking = createClient(apiUrl, (await makeKey(mongodbUri, 'keys', 'api', null, scopes)).key);
      for (const wanted of [...own, ...SCOPES.map((scope) => [scope])]) {
        for (const kind of KEY_KINDS) {
          const { status, body } = await asking.post('/keys', { kind, label: 'scopes', scopes: wanted });
          const allowed = wanted.every((scope) => scopes.includes(scope));
          expect([scopes, wanted, status]).toEqual([scopes, wanted, allowed ? 201 : 403]);
          if (allowed) expect(body.data.scopes).toEqual(wanted);
        }
      }
    }
  });

  test('needs the scope admin, and a key of kind api', async () => {
    const reader = createClient(apiUrl, (await makeKey(mongodbUri, 'keys', 'api', null, ['read', 'write'])).key);
    const crew = createClient(apiUrl, (await makeKey(mongodbUri, 'keys', 'crew_org')).key);
    const { id } = await create(api);
    for (const client of [reader, crew]) {
      const asked = [
        client.get('/keys'),
        client.del(`/keys/${id}`),
        client.post('/keys', { kind: 'api', label: 'no', scopes: ['read'] }),
      ];
      for (const response of await Promise.all(asked)) expect(statusAndCode(response)).toEqual([403, 'FORBIDDEN']);
    }
  });

  test('remembers who asked for it', async () => {
    const { keys } = (await api.get('/keys?limit=100')).body.data;
    const asking = keys.find(({ current }: { current: boolean }) => current);
    const { id } = await create(api);
    const [made] = (await api.get('/keys?limit=1')).body.data.keys;
    expect(made).toMatchObject({ id, created_by: asking.id });
    expect(asking.created_by).toBeNull();
  });

  test('of a user can be for some crews, and is listed with them', async () => {
    const own = await clientOf('keys-of-crews');
    const reply = await create(own, { kind: 'crew_user', crews: ['support-reply'] });
    const brief = await create(own, { kind: 'crew_user', crews: ['document-brief'] });
    const any = await create(own, { kind: 'crew_user' });
    const organisation = await create(own, { kind: 'crew_org' });
    const { keys } = (await own.get('/keys?crew=support-reply')).body.data;
    expect(keys.map(({ id }: Created) => id)).toEqual([organisation.id, any.id, reply.id]);
    expect(keys.map(({ crews }: { crews: string[] | null }) => crews)).toEqual([null, null, ['support-reply']]);
    const used = (key: string) =>
      fetch(`${apiUrl}/crews/support-reply/inputs`, { headers: { Authorization: `Bearer ${key}` } });
    expect([(await used(reply.key)).status, (await used(brief.key)).status]).toEqual([200, 403]);
  });
});

describe('the expiry of a key', () => {
  const api = clientDuringTests('keys-expire');

  test('is a year from now, a given time, or never', async () => {
    const expiry = async (fields: object) => {
      const { id } = await create(api, fields);
      const { keys } = (await api.get('/keys')).body.data;
      return keys.find((key: Created) => key.id === id).expires_at;
    };
    expect(Math.round((Date.parse(await expiry({})) - Date.now()) / 86_400_000)).toBe(365);
    expect(await expiry({ expires_at: '2099-01-31T01:00:00+01:00' })).toBe('2099-01-31T00:00:00.000Z');
    expect(await expiry({ expires_at: null })).toBeNull();
  });

  test('ends the key, which stays in the list', async () => {
    const { id, key } = await create(api);
    expect(await isAccepted(key)).toBe(true);
    await setFields(id, { expires_at: new Date(Date.now() - 60_000) });
    expect(await isAccepted(key)).toBe(false);
    const { keys } = (await api.get('/keys?state=expired')).body.data;
    expect(keys.map((each: Created) => each.id)).toEqual([id]);
  });
});

describe('a key that is revoked over HTTP', () => {
  const api = clientDuringTests('keys-revoked');

  test('is rejected at once, by every process', async () => {
    const other = await startApi(sharedProduct(), {});
    try {
      const { id, key } = await create(api);
      const elsewhere = async () => (await createClient(other.apiUrl, key).get('/databases')).status;
      expect([await isAccepted(key), await elsewhere()]).toEqual([true, 200]);
      const { status, body } = await api.del(`/keys/${id}`);
      expect([status, body.data.state, body.data.current]).toEqual([200, 'revoked', false]);
      expect([await isAccepted(key), await elsewhere()]).toEqual([false, 401]);
      const again = await api.del(`/keys/${id}`);
      expect([again.status, again.body.data.revoked_at]).toEqual([200, body.data.revoked_at]);
    } finally {
      await other.stop();
    }
  });

  test('may be the key of the request', async () => {
    const { id, key } = await create(api, { scopes: ['admin'] });
    const { status, body } = await createClient(apiUrl, key).del(`/keys/${id}`);
    expect([status, body.data.current, body.data.message]).toEqual([
      200,
      true,
      expect.stringContaining('last response'),
    ]);
    expect(await isAccepted(key)).toBe(false);
  });

  test('is not the last one of an administrator', async () => {
    const alone = await clientOf('keys-alone');
    const [{ id }] = (await alone.get('/keys')).body.data.keys;
    // None of these can manage keys.
    await create(alone, { scopes: ['read', 'write'] });
    await create(alone, { kind: 'crew_org', scopes: ['admin'] });
    const expired = await create(alone, { scopes: ['admin'] });
    await setFields(expired.id, { expires_at: new Date(Date.now() - 60_000) });
    expect(statusAndCode(await alone.del(`/keys/${id}`))).toEqual([409, 'LAST_ADMIN_KEY']);
    expect((await alone.del(`/keys/${expired.id}`)).status).toBe(200);
    const next = await create(alone, { scopes: ['admin'] });
    expect((await alone.del(`/keys/${id}`)).status).toBe(200);
    expect(statusAndCode(await createClient(apiUrl, next.key).del(`/keys/${next.id}`))).toEqual([
      409,
      'LAST_ADMIN_KEY',
    ]);
  });

  test('of two that revoke each other at the same time, one remains', async () => {
    for (let round = 0; round < 8; round++) {
      const org = `keys-duel-${round}`;
      const pair = await Promise.all([makeKey(mongodbUri, org), makeKey(mongodbUri, org)]);
      const [one, two] = pair.map(({ key, record: { _id } }) => ({ id: _id, client: createClient(apiUrl, key) }));
      await Promise.all([one!.client.del(`/keys/${two!.id}`), two!.client.del(`/keys/${one!.id}`)]);
      const active = await Promise.all(pair.map(({ key }) => isAccepted(key)));
      expect(active.filter((each) => each)).toHaveLength(1);
    }
  });
});

describe('other organisations', () => {
  test('see no key, and revoke none', async () => {
    const [mine, theirs] = [await clientOf('keys-mine'), await clientOf('keys-theirs')];
    const { id, key } = await create(mine);
    expect((await theirs.get('/keys')).body.data.keys.map((each: Created) => each.id)).not.toContain(id);
    expect(statusAndCode(await theirs.get(`/keys/${id}`))).toEqual([404, 'KEY_NOT_FOUND']);
    expect(statusAndCode(await theirs.del(`/keys/${id}`))).toEqual([404, 'KEY_NOT_FOUND']);
    expect(await isAccepted(key)).toBe(true);
  });
});

describe('the last use of a key', () => {
  const api = clientDuringTests('keys-used');

  test('is unknown before the first request, and written once a minute', async () => {
    const { id, key } = await create(api);
    const lastUse = async () => (await record(id))?.last_used_at ?? null;
    expect(await lastUse()).toBeNull();
    await isAccepted(key);
    const first = await eventually('the first use is written', lastUse);
    for (let n = 0; n < 5; n++) await isAccepted(key);
    expect(await lastUse()).toEqual(first);
    const long = new Date(Date.now() - 120_000);
    await setFields(id, { last_used_at: long });
    await isAccepted(key);
    await eventually('the next use is written', async () => (await lastUse())! > long);
    const { keys } = (await api.get('/keys?limit=1')).body.data;
    expect(keys[0]).toMatchObject({ id, last_used_at: expect.stringMatching(/Z$/) });
    expect((await api.get(`/keys/${id}`)).body.data).toEqual(keys[0]);
  });
});

describe('the list of keys', () => {
  const api = clientDuringTests('keys-paged');
  beforeAll(async () => {
    for (let n = 0; n < 5; n++) await create(api, { label: `key ${n}` });
    await create(api, { kind: 'payment_secret' });
  });

  test('is paged, newest first, and filtered', async () => {
    const labels: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { data }: { data: { keys: { label: string }[]; next_cursor: string | null } } = (
        await api.get(`/keys?limit=2&kind=api${cursor && `&cursor=${cursor}`}`)
      ).body;
      labels.push(...data.keys.map(({ label }) => label));
      cursor = data.next_cursor;
    }
    expect(labels).toEqual(['key 4', 'key 3', 'key 2', 'key 1', 'key 0', 'test']);
    expect((await api.get('/keys?state=revoked')).body.data.count).toBe(0);
  });

  test.each(['limit=0', 'limit=x', 'cursor=dlv_1', 'kind=root', 'state=gone', 'colour=red', 'crew=a&crew=b'])(
    'rejects the query %s',
    async (query) => expect(statusAndCode(await api.get(`/keys?${query}`))).toEqual([400, 'INVALID_PARAMETERS']),
  );
});

describe('hostile input', () => {
  const api = clientDuringTests('keys-hostile');
  const VALID = {
    kind: 'crew_user',
    label: 'valid',
    scopes: ['read'],
    crews: ['a'],
    expires_at: '2099-01-01T00:00:00Z',
  };
  const FOREIGN: unknown[] = [
    ...[null, true, 0, -1, 1e308, '', ' ', 'x'.repeat(200_000), '\u0000', '\u001b[2J', '\ud800', '$where', '__proto__'],
    ...[[], [[]], [null], ['read', 'root'], Array(5_000).fill('read'), {}, { $gt: '' }, { $ne: null }, '1970-01-01'],
    ...['2099-02-30T00:00:00Z', '9999-12-31T23:59:59-23:59', '+275760-09-13T00:00:00Z', ['../etc'], ['a'.repeat(65)]],
  ];

  test('in a body is an error that names the field, and makes no key', async () => {
    const accepted: unknown[] = [];
    for (const field of Object.keys(VALID)) {
      for (const value of FOREIGN) {
        const response = await api.post('/keys', { ...VALID, [field]: value });
        if (response.status === 201) accepted.push([field, value]);
        else {
          expect([400, 422]).toContain(response.status);
          expect(response.body.error!.message).toMatch(new RegExp(`^${field}`));
        }
      }
    }
    // Texts that are labels, names that could be those of crews, and null where it has a meaning.
    expect(accepted).toEqual([
      ['label', '$where'],
      ['label', '__proto__'],
      ['label', '1970-01-01'],
      ['label', '2099-02-30T00:00:00Z'],
      ['label', '9999-12-31T23:59:59-23:59'],
      ['label', '+275760-09-13T00:00:00Z'],
      ['crews', null],
      ['crews', ['read', 'root']],
      ['expires_at', null],
    ]);
    expect((await api.get('/keys?limit=100')).body.data.count).toBe(accepted.length + 1);
  });

  test.each(['[]', '"x"', '{', '{"kind":"api","kind":"api"', ''])('a body %p is rejected', async (body) => {
    const { status } = await api.request('POST', '/keys', { body, headers: { 'Content-Type': 'application/json' } });
    expect([400, 422]).toContain(status);
  });

  test.each(['x', '%00', '..%2f..', `key_${'0'.repeat(26)}`, '[object Object]', 'x'.repeat(2_000)])(
    'the id %p is not found',
    async (id) =>
      expect(statusAndCode(await api.del(`/keys/${encodeURIComponent(id)}`))).toEqual([404, 'KEY_NOT_FOUND']),
  );

  test('crews are for keys of users', async () => {
    const response = await api.post('/keys', { ...VALID, kind: 'crew_org' });
    expect([...statusAndCode(response), response.body.error!.message]).toEqual([
      422,
      'VALIDATION_ERROR',
      'crews: are for keys of kind crew_user',
    ]);
  });
});
