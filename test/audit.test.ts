import { beforeAll, describe, expect, test } from '@jest/globals';
import { createServices } from '../api/app.js';
import { createHttpMetrics } from '../api/metrics.js';
import { scopeOf } from '../api/operation.js';
import { listRoutes } from '../api/service.js';
import type { AuditAction } from '../domain/audit.js';
import { ServiceError } from '../domain/errors.js';
import { DAY_MS } from '../domain/webhooks/delivery-policy.js';
import { type Act, type AuditRecord, createAudit } from '../storage/audit.js';
import { type Client, createClient, statusAndCode } from './support/client.js';
import { runCommand } from './support/command.js';
import { fetchDocumented } from './support/conformance.js';
import { createCrewClient } from './support/crew-client.js';
import { clientDuringTests, collectionsDuringTests } from './support/during-tests.js';
import { clientOf } from './support/organisation.js';
import { databaseBeside, makeKey, OPERATOR_TOKEN, sharedProduct, startApi, withDb } from './support/product.js';

const { apiUrl, mongodbUri } = sharedProduct();

/** Routes that change something and are not acts of administrators: what clients do all day. */
const WORK = [
  'post /context/ingest',
  'patch /context/:id',
  'delete /context',
  'post /query',
  'post /feedback',
  'patch /databases/:database/metadata-schema',
  'patch /tenants/:tenant_id/metadata-schema',
  'post /connectors/:connector_id/sync',
  'post /webhooks/indexing/deliveries/retry',
  'post /webhooks/indexing/deliveries/:delivery_id/retry',
  'post /webhooks/indexing/test',
  'post /deliveries/:delivery_id/retry',
  'post /v3/upload',
  'delete /v3/upload/:file_id',
  'post /v3/ai/async',
  'delete /v3/ai/async/:job_id',
  'post /v3/ai/callbacks/:delivery_id/retry',
  'post /crews/:crew/kickoff',
  'post /crews/:crew/:kickoff_id/cancel',
  'post /crews/:crew/callbacks/:delivery_id/retry',
  'post /authentication',
  'post /authentication/:id/eligibility-check',
  'post /authentication/:id/close',
  'post /mcp',
];

interface Entry {
  id: string;
  at: string;
  action: AuditAction;
  done: boolean;
  actor: { type: string; key_id: string | null; label: string | null };
  subject: { id: string | null; name: string | null };
  address: string | null;
  request_id: string | null;
}

const entriesOf = async (api: Client): Promise<Entry[]> => (await api.get('/audit?limit=100')).body.data.entries;

// Listing the routes needs none of their dependencies.
const changing = createServices({ rateLimits: {} } as Parameters<typeof createServices>[0], createHttpMetrics())
  .flatMap((service) => listRoutes(service))
  .filter(({ method }) => method !== 'get')
  .map(({ method, path, declared }) => ({ route: `${method} ${path}`, method, operation: declared!.operation }));

test('every route that changes something is recorded, unless it is work of clients', () => {
  const unrecorded = changing.filter(({ operation }) => !operation.audit);
  expect(unrecorded.map(({ route }) => route).sort()).toEqual([...WORK].sort());
  expect(unrecorded.filter(({ operation, method }) => scopeOf(operation, method) === 'admin')).toEqual([]);
});

describe('an act of an administrator', () => {
  const org = 'audited';
  let api: Client;
  let actors: Record<'api' | 'crew_org' | 'payment_secret', { key: string; id: string }>;
  let crew: ReturnType<typeof createCrewClient>;

  beforeAll(async () => {
    const make = async (kind: keyof typeof actors) => {
      const { key, record } = await makeKey(mongodbUri, org, kind);
      return { key, id: record._id };
    };
    actors = {
      api: await make('api'),
      crew_org: await make('crew_org'),
      payment_secret: await make('payment_secret'),
    };
    api = createClient(apiUrl, actors.api.key);
    crew = createCrewClient(apiUrl, 'support-reply', actors.crew_org.key);
    await api.createDatabase('feeds');
  });

  let requests = 0;
  /** Sends a request. @returns its id, and its response */
  async function send(kind: keyof typeof actors | string, method: string, path: string, json?: object) {
    const id = `audited-${process.pid}-${requests++}`;
    const key = kind in actors ? actors[kind as keyof typeof actors].key : kind;
    const { status, body } = await fetchDocumented(apiUrl, method, path, {
      headers: {
        ...(kind === 'payment_secret' ? { 'api-key': key } : { Authorization: `Bearer ${key}` }),
        'API-Version': '2',
        'Content-Type': 'application/json',
        'X-Request-Id': id,
      },
      body: json && JSON.stringify(json),
    });
    if (status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(body)}`);
    return { id, data: body.data ?? body };
  }
  /** An execution whose first output waits, with the token of its link. */
  async function waiting() {
    const inputs = { customer_message: 'Where is my parcel?', notes: 'Parcels take two days.' };
    const id = await crew.start(inputs);
    const { review_url } = await crew.reaches(id, 'pending_human_input');
    return { id, token: new URL(review_url).hash.slice(1) };
  }
  const feed = {
    kind: 'feed',
    database: 'feeds',
    settings: { url: 'http://127.0.0.1:9/feed' },
    schedule: { paused: true },
  };
  const connector = async () => (await send('api', 'POST', '/connectors', feed)).data.id as string;
  const newKey = { kind: 'api', label: 'audited key', scopes: ['read'] };
  const url = 'http://127.0.0.1:9/hook?token=secret';
  const name = (text: string | null) => ({ id: null, name: text });
  const decision = { task_id: 'draft_reply', is_approve: true, human_feedback: 'Good.' };
  const DRAFT = 'draft_reply by support-reply';

  type Expected = Pick<Entry, 'action' | 'subject'> & { actor?: Entry['actor']['type']; seenBy?: Client };
  type Sent = { id: string };
  /** One act for each route that is recorded: the request, and what its entry says. */
  const ACTS: Record<string, () => Promise<[sent: Sent, kind: string, expected: Expected]>> = {
    'post /keys': async () => {
      const sent = await send('api', 'POST', '/keys', newKey);
      return [sent, 'api', { action: 'key.created', subject: { id: sent.data.id, name: 'audited key' } }];
    },
    'delete /keys/:key_id': async () => {
      const { id } = (await send('api', 'POST', '/keys', newKey)).data;
      const sent = await send('api', 'DELETE', `/keys/${id}`);
      return [sent, 'api', { action: 'key.revoked', subject: { id, name: 'audited key' } }];
    },
    'post /databases': async () => {
      const sent = await send('api', 'POST', '/databases', { database: 'library' });
      return [sent, 'api', { action: 'database.created', subject: name('library') }];
    },
    'delete /databases/:database': async () => {
      await send('api', 'POST', '/databases', { database: 'to-delete' });
      const sent = await send('api', 'DELETE', '/databases/to-delete');
      return [sent, 'api', { action: 'database.deleted', subject: name('to-delete') }];
    },
    'post /tenants': async () => {
      const sent = await send('api', 'POST', '/tenants', { tenant_id: 'old-name' });
      return [sent, 'api', { action: 'database.created', subject: name('old-name') }];
    },
    'delete /tenants/:tenant_id': async () => {
      await send('api', 'POST', '/tenants', { tenant_id: 'old-to-delete' });
      const sent = await send('api', 'DELETE', '/tenants/old-to-delete');
      return [sent, 'api', { action: 'database.deleted', subject: name('old-to-delete') }];
    },
    'post /connectors': async () => {
      const sent = await send('api', 'POST', '/connectors', feed);
      return [sent, 'api', { action: 'connector.created', subject: { id: sent.data.id, name: 'feed into feeds' } }];
    },
    'patch /connectors/:connector_id': async () => {
      const id = await connector();
      const sent = await send('api', 'PATCH', `/connectors/${id}`, { schedule: { every: 2 } });
      return [sent, 'api', { action: 'connector.changed', subject: { id, name: null } }];
    },
    'delete /connectors/:connector_id': async () => {
      const id = await connector();
      const sent = await send('api', 'DELETE', `/connectors/${id}`);
      return [sent, 'api', { action: 'connector.deleted', subject: { id, name: null } }];
    },
    'post /webhooks/indexing': async () => {
      const sent = await send('api', 'POST', '/webhooks/indexing', { url, generate_signing_secret: true });
      const subject = name('127.0.0.1:9, with a new signing secret');
      return [sent, 'api', { action: 'webhook.registered', subject }];
    },
    'post /webhooks/indexing/signing-secret': async () => {
      await send('api', 'POST', '/webhooks/indexing', { url });
      const sent = await send('api', 'POST', '/webhooks/indexing/signing-secret', {});
      return [sent, 'api', { action: 'signing_secret.set', subject: name('indexing webhooks') }];
    },
    'delete /webhooks/indexing/signing-secret': async () => {
      await send('api', 'POST', '/webhooks/indexing', { url });
      const sent = await send('api', 'DELETE', '/webhooks/indexing/signing-secret');
      return [sent, 'api', { action: 'signing_secret.deleted', subject: name('indexing webhooks') }];
    },
    'post /webhooks/indexing/disable': async () => {
      await send('api', 'POST', '/webhooks/indexing', { url });
      const sent = await send('api', 'POST', '/webhooks/indexing/disable');
      return [sent, 'api', { action: 'webhook.disabled', subject: name(null) }];
    },
    'delete /webhooks/indexing': async () => {
      await send('api', 'POST', '/webhooks/indexing', { url });
      const sent = await send('api', 'DELETE', '/webhooks/indexing');
      return [sent, 'api', { action: 'webhook.deleted', subject: name(null) }];
    },
    'post /crews/signing-secret': async () => {
      const sent = await send('crew_org', 'POST', '/crews/signing-secret', {
        signing_secret: 'sixteen or more characters',
      });
      return [sent, 'crew_org', { action: 'signing_secret.set', subject: name('crews') }];
    },
    'delete /crews/signing-secret': async () => {
      await send('crew_org', 'POST', '/crews/signing-secret', {});
      const sent = await send('crew_org', 'DELETE', '/crews/signing-secret');
      return [sent, 'crew_org', { action: 'signing_secret.deleted', subject: name('crews') }];
    },
    'post /authentication/signing-secret': async () => {
      const sent = await send('payment_secret', 'POST', '/authentication/signing-secret', {});
      return [sent, 'payment_secret', { action: 'signing_secret.set', subject: name('authentications') }];
    },
    'post /crews/:crew/resume': async () => {
      const { id } = await waiting();
      const json = { ...decision, execution_id: id, is_approve: false };
      const sent = await send('crew_org', 'POST', '/crews/support-reply/resume', json);
      return [sent, 'crew_org', { action: 'output.rejected', subject: { id, name: DRAFT } }];
    },
    'delete /crews/:crew/:kickoff_id/review-links': async () => {
      const { id } = await waiting();
      const sent = await send('crew_org', 'DELETE', `/crews/support-reply/${id}/review-links`);
      const subject = { id, name: 'an execution of support-reply' };
      return [sent, 'crew_org', { action: 'review_links.revoked', subject }];
    },
    'post /operator/organisations': async () => {
      const sent = await send(OPERATOR_TOKEN, 'POST', '/operator/organisations', { organisation: 'audited-new' });
      const { id, key } = sent.data.key;
      const subject = { id, name: 'audited-new' };
      return [
        sent,
        '',
        { action: 'organisation.created', subject, actor: 'operator', seenBy: createClient(apiUrl, key) },
      ];
    },
    'post /review/decision': async () => {
      const { id, token } = await waiting();
      const sent = await send(token, 'POST', '/review/decision', { is_approve: true });
      return [sent, '', { action: 'output.approved', subject: { id, name: DRAFT }, actor: 'review_link' }];
    },
  };

  test.each(changing.filter(({ operation }) => operation.audit).map(({ route }) => route))('%s', async (route) => {
    const [sent, kind, { actor = 'key', seenBy = api, ...expected }] = await ACTS[route]!();
    const [entry] = (await entriesOf(seenBy)).filter(({ request_id }) => request_id === sent.id);
    const key_id = actors[kind as keyof typeof actors]?.id ?? null;
    expect(entry).toEqual({
      id: expect.stringMatching(/^aud_/),
      at: expect.stringMatching(/Z$/),
      ...expected,
      done: true,
      actor: { type: actor, key_id, label: key_id && 'test' },
      address: '127.0.0.1',
      request_id: sent.id,
    });
  });

  test('that finds nothing to delete says so', async () => {
    await api.del('/webhooks/indexing');
    const { id } = await send('api', 'DELETE', '/webhooks/indexing');
    const entry = (await entriesOf(api)).find(({ request_id }) => request_id === id);
    expect(entry?.subject.name).toBe('there was none');
  });

  test('leaves no secret in its entry', async () => {
    await send('api', 'POST', '/webhooks/indexing', { url, signing_secret: 'a-signing-secret-of-a-client' });
    const key = (await send('api', 'POST', '/keys', newKey)).data.key as string;
    const stored = await withDb(mongodbUri, (db) => db.collection('audit_entries').find({ org }).toArray());
    expect(stored.length).toBeGreaterThan(2);
    for (const secret of ['token=secret', 'a-signing-secret', key.slice(-20)]) {
      expect(JSON.stringify(stored)).not.toContain(secret);
    }
  });
});

describe('the audit log over HTTP', () => {
  const api = clientDuringTests('audit-log');

  test('has no entry of a request that was rejected', async () => {
    const before = await entriesOf(api);
    const rejected = await Promise.all([
      api.del('/keys/none'),
      api.post('/keys', { kind: 'root' }),
      api.del('/databases/none'),
      api.del('/connectors/none'),
      api.post('/webhooks/indexing', { url: 'https://10.0.0.1/private' }),
      api.del('/webhooks/indexing/signing-secret'),
    ]);
    for (const { status } of rejected) expect([400, 404, 422]).toContain(status);
    expect(await entriesOf(api)).toEqual(before);
  });

  test('has one entry of a request that is repeated with its Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': `audit-${process.pid}` };
    for (let n = 0; n < 2; n++) await api.request('POST', '/databases', { json: { database: 'once' }, headers });
    const created = (await entriesOf(api)).filter(({ subject }) => subject.name === 'once');
    expect(created).toHaveLength(1);
  });

  test('is paged, newest first', async () => {
    const own = await clientOf('audit-paged');
    for (let n = 0; n < 5; n++) await own.post('/keys', { kind: 'api', label: `${n}`, scopes: ['read'] });
    const names: (string | null)[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const { data }: { data: { entries: Entry[]; next_cursor: string | null } } = (
        await own.get(`/audit?limit=2${cursor && `&cursor=${cursor}`}`)
      ).body;
      names.push(...data.entries.map(({ subject }) => subject.name));
      cursor = data.next_cursor;
    }
    expect(names).toEqual(['4', '3', '2', '1', '0']);
    for (const query of ['limit=101', 'cursor=key_1', 'org=audited']) {
      expect(statusAndCode(await own.get(`/audit?${query}`))).toEqual([400, 'INVALID_PARAMETERS']);
    }
  });

  test("is for administrators, and has nothing of others' organisations", async () => {
    const reader = createClient(apiUrl, (await makeKey(mongodbUri, 'audit-log', 'api', null, ['read', 'write'])).key);
    expect(statusAndCode(await reader.get('/audit'))).toEqual([403, 'FORBIDDEN']);
    await api.post('/keys', { kind: 'api', label: 'mine', scopes: ['read'] });
    expect(await entriesOf(await clientOf('audit-stranger'))).toEqual([]);
  });

  test('names the client behind a trusted proxy, and the peer otherwise', async () => {
    const trusting = await startApi(sharedProduct(), { POSTBACK_TRUSTED_PROXIES: '127.0.0.0/8' });
    try {
      const from = async (at: string, address: string) => {
        const client = createClient(at, api.key);
        const headers = { 'X-Forwarded-For': `198.51.100.1, ${address}` };
        const { body } = await client.request('POST', '/keys', {
          json: { kind: 'api', label: 'x', scopes: ['read'] },
          headers,
        });
        const entries = await entriesOf(api);
        return entries.find(({ subject }) => subject.id === body.data.id)!.address;
      };
      expect(await from(trusting.apiUrl, '203.0.113.7')).toBe('203.0.113.7');
      expect(await from(trusting.apiUrl, '2001:db8::7')).toBe('2001:db8::7');
      expect(await from(apiUrl, '203.0.113.7')).toBe('127.0.0.1');
    } finally {
      await trusting.stop();
    }
  });

  test('has the commands of operators', async () => {
    const own = await clientOf('audit-commands');
    const env = { MONGODB_URI: mongodbUri };
    const created = await runCommand(
      ['keys', 'create', '--org', 'audit-commands', '--label', 'by hand', '--json'],
      env,
    );
    const { id } = JSON.parse(created.out);
    await runCommand(['keys', 'revoke', id], env);
    const operator = { actor: { type: 'command_line', key_id: null, label: null }, address: null, done: true };
    expect(await entriesOf(own)).toEqual([
      expect.objectContaining({ ...operator, action: 'key.revoked', subject: { id, name: 'by hand' } }),
      expect.objectContaining({ ...operator, action: 'key.created', subject: { id, name: 'by hand' } }),
    ]);
  });
});

describe('an entry', () => {
  const collections = collectionsDuringTests(databaseBeside(mongodbUri, 'audit'));
  const act: Act = {
    org: 'entries',
    action: 'key.revoked',
    actor: { type: 'operator' },
    subject: { id: 'key_1' },
    address: null,
    request_id: null,
  };
  const newest = async () => (await createAudit(collections).listForOrg('entries', { from: undefined, limit: 1 }))[0];

  test('is stored before the act, so that a process that dies leaves it', async () => {
    let during: AuditRecord | undefined;
    await createAudit(collections).record(act, async () => {
      during = await newest();
      return { result: undefined, subject: { name: 'later' } };
    });
    expect(during).toMatchObject({ subject: { id: 'key_1' }, done: false });
    expect(await newest()).toMatchObject({ _id: during!._id, subject: { id: 'key_1', name: 'later' }, done: true });
    expect(during!.expires_at.getTime() - during!.created_at.getTime()).toBe(90 * DAY_MS);
  });

  test('stays when nobody knows how the act ended, and goes when it was rejected', async () => {
    const failing = (error: Error) =>
      createAudit(collections)
        .record(act, () => Promise.reject(error))
        .catch((fault) => fault);
    expect(await failing(new Error('cut off'))).toMatchObject({ message: 'cut off' });
    const unknown = await newest();
    expect(unknown).toMatchObject({ done: false });
    await failing(new ServiceError('KEY_NOT_FOUND', 'none'));
    expect((await newest())!._id).toBe(unknown!._id);
  });

  test('that cannot be stored stops the act', async () => {
    const away = { forOrg: () => ({ insertOne: () => Promise.reject(new Error('no database')) }) };
    let acted = false;
    const recorded = createAudit({ ...collections, auditEntries: away as never }).record(act, async () => {
      acted = true;
      return { result: undefined };
    });
    await expect(recorded).rejects.toThrow('no database');
    expect(acted).toBe(false);
  });
});
