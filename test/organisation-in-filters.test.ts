import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSealer } from '../domain/sealing.js';
import { createActivity } from '../storage/activity.js';
import { createAiJobs } from '../storage/ai-jobs/jobs.js';
import { createSigningKeys } from '../storage/ai-jobs/signing-keys.js';
import { createUploads } from '../storage/ai-jobs/uploads.js';
import { createApiKeys } from '../storage/api-keys.js';
import type { Collections } from '../storage/collections.js';
import { createConnectors } from '../storage/connectors/connectors.js';
import { createConnectorSyncs } from '../storage/connectors/syncs.js';
import { createDatabases } from '../storage/content/databases.js';
import { createFeedback } from '../storage/content/feedback.js';
import { createItems } from '../storage/content/items.js';
import { createRemovedItems } from '../storage/content/removed-items.js';
import { createCrewExecutions } from '../storage/crews/executions.js';
import { createCrewSigningSecrets } from '../storage/crews/signing-secrets.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createModelTokens } from '../storage/model-tokens.js';
import { createOrganisations } from '../storage/organisations.js';
import { createAuthentications } from '../storage/payments/authentications.js';
import { createPaymentSigningSecrets } from '../storage/payments/signing-secrets.js';
import { createQuotas } from '../storage/quotas.js';
import { createUsage, MEASURES } from '../storage/usage.js';
import { createClientDeliveries } from '../storage/webhooks/client-deliveries.js';
import { createLaneQueue } from '../storage/webhooks/lane-queue.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { createReplays } from '../storage/webhooks/replays.js';
import { testCollections, withDb } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import { type RecordedFilter, recordFilters } from './support/recorded-filters.js';
import { aiJobRecord, deliveryRecord, readyDatabase } from './support/records.js';

const ORG = 'acme';
const HOUR_MS = 3_600_000;

/** Collections whose ids are or begin with the organisation: such a filter names it by the id. */
const NAMED_BY_ID = [
  'organisations',
  'quota_gates',
  'model_tokens',
  'idempotency_keys',
  'registrations',
  'crew_signing_secrets',
  'payment_signing_secrets',
];

/** Fields that name the organisation without `org`, by collection, and why. */
const EXCEPTIONS: Record<string, { field: string; reason: string }> = {
  items: { field: 'database_id', reason: 'a database belongs to one organisation, and its id is never used again' },
  removed_items: { field: 'database_id', reason: 'the same' },
  feedback: { field: 'database_id', reason: 'the same' },
  feedback_tallies: { field: '_id', reason: 'the id begins with that of the database' },
};

/** Whether a filter limits a query to one organisation. */
function namesOrganisation({ collection, filter }: RecordedFilter): boolean {
  if (isGiven(filter.org)) return filter.org === ORG;
  if (
    Array.isArray(filter.$and) &&
    filter.$and.some((part) => namesOrganisation({ ...NOTHING, collection, filter: part }))
  )
    return true;
  if (NAMED_BY_ID.includes(collection)) return filter._id === ORG || String(filter._id).startsWith(`${ORG}/`);
  const exception = EXCEPTIONS[collection];
  return exception !== undefined && isGiven(filter[exception.field]);
}

const NOTHING = { command: '' };
const isGiven = (condition: unknown): boolean => condition !== undefined && condition !== null;

describe('the stores', () => {
  const uri = new URL(databaseBeside(sharedProduct().mongodbUri, 'organisation-in-filters'));
  uri.searchParams.set('monitorCommands', 'true');
  let collections: Collections;
  let recorded: RecordedFilter[];
  beforeAll(async () => {
    await withDb(uri.toString(), (db) => db.dropDatabase());
    collections = await testCollections(uri.toString());
    recorded = recordFilters(collections.mongoClient);
  });
  afterAll(() => collections.mongoClient.close());

  function openStores() {
    const sealer = createSealer(Buffer.alloc(32, 1).toString('base64'));
    const times = { expiresAfterMs: HOUR_MS, keptForMs: HOUR_MS, deviceDataKeptForMs: HOUR_MS };
    const organisations = createOrganisations(collections);
    const usage = createUsage(collections);
    const modelTokens = createModelTokens(collections);
    const limits = { stored_bytes: 9, items: 9, databases: 9, connectors: 9, queued_jobs: 9, running_crews: 9 };
    return {
      activity: createActivity(collections),
      aiJobs: createAiJobs(collections, HOUR_MS),
      signingKeys: createSigningKeys(collections, sealer),
      uploads: createUploads(collections),
      apiKeys: createApiKeys(collections),
      connectors: createConnectors(collections, sealer),
      syncs: createConnectorSyncs(collections),
      databases: createDatabases(collections),
      feedback: createFeedback(collections),
      items: createItems(collections),
      removedItems: createRemovedItems({ ...collections, notifyInterrupted: async () => undefined }),
      crewExecutions: createCrewExecutions(collections, HOUR_MS),
      crewSigningSecrets: createCrewSigningSecrets(collections, sealer),
      idempotencyKeys: createIdempotencyKeys(collections, sealer, { ttlMs: HOUR_MS }),
      modelTokens,
      organisations,
      authentications: createAuthentications(collections, sealer, times),
      paymentSigningSecrets: createPaymentSigningSecrets(collections, sealer),
      quotas: createQuotas(
        { ...collections, organisations, usage, modelTokens },
        { ...limits, uploads: 9, model_tokens: 9 },
      ),
      usage,
      clientDeliveries: createClientDeliveries(collections),
      laneQueue: createLaneQueue(collections),
      registrations: createRegistrations(collections, sealer),
      replays: createReplays(collections),
    };
  }

  /** One call of each method that takes an organisation, by its name. */
  function callsOf(stores: ReturnType<typeof openStores>): Record<string, () => Promise<unknown>> {
    const now = new Date();
    const page = { limit: 10 };
    const period = { from: new Date(0), to: now, intervalMs: HOUR_MS };
    const scope = { org: ORG, events: ['indexing.status_changed' as const] };
    const database = readyDatabase('tnt_1', ORG, 'library');
    const claim = { org: ORG, route: 'POST /things', key: 'once' };
    const delivery = deliveryRecord({ _id: 'dlv_1', org: ORG, now });
    const s = stores;
    return {
      'activity.itemsByStatus': () => s.activity.itemsByStatus(ORG),
      'activity.jobsByStatus': () => s.activity.jobsByStatus(ORG, period),
      'activity.deliveries': () => s.activity.deliveries(ORG, period),
      'aiJobs.findForOrg': () => s.aiJobs.findForOrg(ORG, 'job'),
      'aiJobs.listGroup': () => s.aiJobs.listGroup(ORG, 'group'),
      'aiJobs.listForOrg': () => s.aiJobs.listForOrg(ORG, page),
      'aiJobs.requestCancel': () => s.aiJobs.requestCancel(ORG, 'job'),
      'signingKeys.currentId': () => s.signingKeys.currentId(ORG),
      'signingKeys.openPrivateKey': () => s.signingKeys.openPrivateKey(ORG, 'none').catch(() => null),
      'signingKeys.rotate': () => s.signingKeys.rotate(ORG),
      'signingKeys.listPublicKeys': async () => {
        const old = { $set: { retired_at: new Date(0) } };
        await collections.signingKeys.updateMany({ org: ORG, current: false }, old);
        return s.signingKeys.listPublicKeys(ORG);
      },
      'uploads.findForOrg': () => s.uploads.findForOrg(ORG, 'fil_1'),
      'uploads.discard': async () => {
        const upload = { filename: 'a', size: 1, mime_type: 'text/plain', created_at: now };
        await s.uploads.add({ _id: 'fil_1', org: ORG, ...upload, expires_at: new Date(Date.now() + HOUR_MS) });
        expect(await s.uploads.discard(ORG, 'fil_1')).toBe('discarded');
      },
      'apiKeys.list': () => s.apiKeys.list(ORG),
      'apiKeys.revokeLabelled': () => s.apiKeys.revokeLabelled(ORG, 'label'),
      'connectors.findForOrg': () => s.connectors.findForOrg(ORG, 'con_1'),
      'connectors.findAnyForOrg': () => s.connectors.findAnyForOrg(ORG, 'con_1'),
      'connectors.listForOrg': () => s.connectors.listForOrg(ORG, page),
      'connectors.update': () => s.connectors.update(ORG, 'con_1', {}),
      'connectors.markDeleted': () => s.connectors.markDeleted(ORG, 'con_1', false),
      'connectors.remove': () => s.connectors.remove(ORG, 'con_1'),
      'syncs.start': () => s.syncs.start(ORG, 'con_1'),
      'databases.create': () => s.databases.create(ORG, 'library', []),
      'databases.rejectTaken': () => s.databases.rejectTaken(ORG, 'other'),
      'databases.requireForOrg': () => s.databases.requireForOrg(ORG, 'library'),
      'databases.requireAnyForOrg': () => s.databases.requireAnyForOrg(ORG, 'library'),
      'databases.listForOrg': () => s.databases.listForOrg(ORG, page),
      'databases.addMetadataFields': () =>
        s.databases.addMetadataFields(ORG, 'library', [{ name: 'year', data_type: 'INT32' }]),
      'databases.listReadyNames': () => s.databases.listReadyNames(ORG),
      'feedback.add': () => {
        const input = { query: 'q', collection: 'default', source_id: 'a', chunk_id: null, rating: 1, comment: null };
        return s.feedback.add(s.feedback.newFeedback(database, 'key_1', input));
      },
      'items.streamQueued': async () => {
        for await (const _ of s.items.streamQueued(ORG, 'bat_1')) throw new Error('there is none');
      },
      'removedItems.remove': async () => {
        const item = { _id: 'itm_1', org: ORG, database_id: 'tnt_1', collection: 'default', id: 'a', version: 1 };
        const state = { indexing_status: 'completed', source: { kind: 'text', text: 'a' } };
        await collections.items.insertOne({ ...item, ...state } as never);
        expect((await s.removedItems.remove(database, { ids: ['a'] })).removed).toEqual(['a']);
      },
      'removedItems.listPending': () => s.removedItems.listPending({ org: ORG, removal: 'rmv_1' }, 10),
      'crewExecutions.findForOrg': () => s.crewExecutions.findForOrg(ORG, 'crew', 'id'),
      'crewExecutions.requestCancel': () => s.crewExecutions.requestCancel(ORG, 'crew', 'id'),
      'crewExecutions.listForOrg': () => s.crewExecutions.listForOrg(ORG, 'crew', page),
      'crewExecutions.listWaiting': () => s.crewExecutions.listWaiting(ORG, page),
      'crewSigningSecrets.set': () => s.crewSigningSecrets.set(ORG, 'a secret'),
      'crewSigningSecrets.listOpen': () => s.crewSigningSecrets.listOpen(ORG, now),
      'crewSigningSecrets.remove': () => s.crewSigningSecrets.remove(ORG),
      'idempotencyKeys.claim': async () => {
        await s.idempotencyKeys.claim(claim, 'fingerprint');
        await s.idempotencyKeys.claim(claim, 'fingerprint');
      },
      'modelTokens.usedOn': () => s.modelTokens.usedOn(ORG, now),
      'modelTokens.add': () => s.modelTokens.add(ORG, 1, now),
      'organisations.find': () => s.organisations.find(ORG),
      'organisations.setLimits': () => s.organisations.setLimits(ORG, { items: 5 }),
      'organisations.clearLimits': () => s.organisations.clearLimits(ORG, ['items']),
      'authentications.findForOrg': () => s.authentications.findForOrg(ORG, 'auth_1', now),
      'authentications.listForOrg': () => s.authentications.listForOrg(ORG, page, now),
      'authentications.verify': () => s.authentications.verify(ORG, 'auth_1', 'secret', now),
      'authentications.close': () => s.authentications.close(ORG, 'auth_1', now, async () => undefined),
      'authentications.findCheckData': () => s.authentications.findCheckData({ _id: 'auth_1', org: ORG } as never, now),
      'paymentSigningSecrets.generateFirst': () => s.paymentSigningSecrets.generateFirst(ORG),
      'paymentSigningSecrets.set': () => s.paymentSigningSecrets.set(ORG, 'a secret'),
      'paymentSigningSecrets.listOpen': () => s.paymentSigningSecrets.listOpen(ORG, now),
      'quotas.usageOf': () => s.quotas.usageOf(ORG, now),
      'quotas.requireTokens': () => s.quotas.requireTokens(ORG, now),
      'quotas.tokenMeter': () => s.quotas.tokenMeter(ORG).admit(),
      'quotas.admit': () => s.quotas.admit(ORG, { items: 1, databases: 1 }, async () => undefined),
      ...Object.fromEntries(MEASURES.map((name) => [`usage.measure ${name}`, () => s.usage.measure(name, ORG)])),
      'clientDeliveries.find': () => s.clientDeliveries.find(scope, 'dlv_1'),
      'clientDeliveries.list': () => s.clientDeliveries.list(scope, {}, { before: 'dlv_1', limit: 10 }),
      'clientDeliveries.countRetryable': () => s.clientDeliveries.countRetryable(scope, {}),
      'clientDeliveries.listRetryable': () =>
        s.clientDeliveries.listRetryable(scope, {}, { after: 'dlv_1', limit: 10 }),
      'clientDeliveries.requeue': () => s.clientDeliveries.requeue(scope, 'dlv_1'),
      'clientDeliveries.requeueInLane': () => s.clientDeliveries.requeueInLane(scope, [delivery], 0),
      'laneQueue.countFailed': () => s.laneQueue.countFailed(ORG, 'indexing.status_changed', 10),
      'registrations.register': () =>
        s.registrations.register(ORG, 'https://example.com', ['indexing.status_changed'], 'a secret'),
      'registrations.findForOrg': () => s.registrations.findForOrg(ORG),
      'registrations.setSecret': () => s.registrations.setSecret(ORG, null),
      'registrations.remove': () => s.registrations.remove(ORG),
      'replays.findForOrg': () => s.replays.findForOrg(ORG, 'rpl_1'),
    };
  }

  test('name the organisation in every filter of a method that knows it', async () => {
    await collections.aiJobs.insertOne(aiJobRecord({ org: ORG, now: new Date() }));
    const offenders: { method: string; command: string; collection: string; fields: string[] }[] = [];
    for (const [method, call] of Object.entries(callsOf(openStores()))) {
      const from = recorded.length;
      await call();
      const sent = recorded.slice(from);
      for (const each of sent.filter((filter) => !namesOrganisation(filter))) {
        const { command, collection, filter } = each;
        offenders.push({ method, command, collection, fields: Object.keys(filter) });
      }
    }
    expect(offenders).toEqual([]);
    expect(recorded.length).toBeGreaterThan(100);
  });

  test('are all covered: each method that takes an organisation is called above', () => {
    const stores = openStores();
    const called = Object.keys(callsOf(stores)).map((name) => name.split(' ')[0]!);
    /** Methods without queries. */
    const LOCAL = ['authentications.prepare'];
    const taking = Object.entries(stores).flatMap(([store, methods]) =>
      Object.entries(methods as Record<string, unknown>)
        .filter(([, method]) => typeof method === 'function' && takesOrganisation(method))
        .map(([method]) => `${store}.${method}`),
    );
    expect(taking.length).toBeGreaterThan(50);
    expect(taking.filter((name) => !called.includes(name) && !LOCAL.includes(name))).toEqual([]);
  });
});

/** By the name of its first parameter. */
// biome-ignore lint/complexity/noBannedTypes: any method of a store
function takesOrganisation(method: Function): boolean {
  const [, first = ''] = /^[^(]*\(([^)]*)/.exec(method.toString()) ?? [];
  return /^(org|scope)\b|^\{[^}]*\borg\b/.test(first);
}
