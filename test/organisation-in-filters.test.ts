import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ClientSession, CommandStartedEvent, Document } from 'mongodb';
import { newJobId } from '../domain/ids.js';
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
import { createCrewFeedback } from '../storage/crews/feedback.js';
import { createCrewSigningSecrets } from '../storage/crews/signing-secrets.js';
import { createCrewSteps } from '../storage/crews/steps.js';
import { createIdempotencyKeys } from '../storage/idempotency-keys.js';
import { createModelTokens } from '../storage/model-tokens.js';
import { createOrganisations } from '../storage/organisations.js';
import { createAuthentications } from '../storage/payments/authentications.js';
import { createPaymentSigningSecrets } from '../storage/payments/signing-secrets.js';
import { createQuotas } from '../storage/quotas.js';
import { inTransaction } from '../storage/transactions.js';
import { createUsage, MEASURES } from '../storage/usage.js';
import { createClientDeliveries } from '../storage/webhooks/client-deliveries.js';
import { createDeliveries } from '../storage/webhooks/deliveries.js';
import { createDeliveryQueue } from '../storage/webhooks/delivery-queue.js';
import { createRegistrations } from '../storage/webhooks/registrations.js';
import { createReplays } from '../storage/webhooks/replays.js';
import { unlistedForms } from './support/forms-across.js';
import { openTestCollections, testCollections, withDb } from './support/mongodb.js';
import { databaseBeside, sharedProduct } from './support/product.js';
import {
  namesShard,
  type RecordedFilter,
  recordFilters,
  SPANS,
  watchTransactions,
} from './support/recorded-filters.js';
import { aiJobRecord, deliveryRecord, readyDatabase } from './support/records.js';

const ORG = 'acme';
const HOUR_MS = 3_600_000;

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
      removedItems: createRemovedItems({ ...collections, notifyInterrupted: async () => [] }),
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
      deliveries: createDeliveries(collections),
      deliveryQueue: createDeliveryQueue(collections),
      crewSteps: createCrewSteps(collections),
      crewFeedback: createCrewFeedback(collections),
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
    const version = { item: 'itm_1', version: 1, org: ORG, database_id: 'tnt_1' };
    const job = newJobId();
    const attempt = { execution: 'id', org: ORG, task: 'task', attempt: 1 };
    const inTx = <T>(write: (tx: ClientSession) => Promise<T>) => inTransaction(collections.mongoClient, write);
    const s = stores;
    return {
      'activity.itemsByStatus': () => s.activity.itemsByStatus(ORG),
      'activity.jobsByStatus': () => s.activity.jobsByStatus(ORG, period),
      'activity.deliveries': () => s.activity.deliveries(ORG, period),
      'aiJobs.findForOrg': () => s.aiJobs.findForOrg(ORG, 'job'),
      'aiJobs.listGroup': () => s.aiJobs.listGroup(ORG, 'group'),
      'aiJobs.listForOrg': () => s.aiJobs.listForOrg(ORG, page),
      'aiJobs.requestCancel': () => s.aiJobs.requestCancel(ORG, 'job'),
      'aiJobs.getById': () => s.aiJobs.getById(ORG, 'job'),
      'aiJobs.start': async () => {
        await collections.aiJobs.insertOne({ ...aiJobRecord({ org: ORG, now }), _id: job });
        expect(await s.aiJobs.start(ORG, job)).toMatchObject({ status: 'processing' });
      },
      'aiJobs.saveResult': () => s.aiJobs.saveResult(ORG, 'another job', { output: '{}', original: null }),
      'aiJobs.getResult': () => s.aiJobs.getResult(ORG, 'job'),
      'aiJobs.hasResult': () => s.aiJobs.hasResult(ORG, 'job'),
      'aiJobs.countProviderFailure': () => s.aiJobs.countProviderFailure(ORG, 'job'),
      'aiJobs.uncountRun': () => s.aiJobs.uncountRun(ORG, 'job'),
      'aiJobs.isFileNeeded': () => s.aiJobs.isFileNeeded({ _id: 'fil_1', org: ORG }),
      'aiJobs.finish': async () => {
        const finish = (tx: ClientSession) => s.aiJobs.finish(ORG, job, { status: 'success' }, now, tx);
        expect(await inTransaction(collections.mongoClient, finish)).toMatchObject({ status: 'success' });
      },
      'signingKeys.currentId': () => s.signingKeys.currentId(ORG),
      'signingKeys.openPrivateKey': () => s.signingKeys.openPrivateKey(ORG, 'none').catch(() => null),
      'signingKeys.findPublicKey': () => s.signingKeys.findPublicKey(ORG, 'none'),
      'signingKeys.rotate': () => s.signingKeys.rotate(ORG),
      'signingKeys.listPublicKeys': async () => {
        const old = { $set: { retired_at: new Date(0) } };
        await collections.signingKeys.updateMany({ org: ORG, current: false }, old);
        return s.signingKeys.listPublicKeys(ORG);
      },
      'uploads.findForOrg': () => s.uploads.findForOrg(ORG, 'fil_1'),
      'uploads.getById': () => s.uploads.getById(ORG, 'fil_1'),
      'uploads.keepUntil': () => s.uploads.keepUntil({ _id: 'none', org: ORG }, now),
      'uploads.remove': () => s.uploads.remove({ _id: 'none', org: ORG }),
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
      'connectors.markDatabaseDeleted': () => s.connectors.markDatabaseDeleted(database),
      'connectors.markApplied': () => s.connectors.markApplied({ _id: 'con_1', org: ORG, updated_at: now } as never),
      'syncs.start': () => s.syncs.start(ORG, 'con_1'),
      'databases.create': () => s.databases.create(ORG, 'library', []),
      'databases.rejectTaken': () => s.databases.rejectTaken(ORG, 'other'),
      'databases.requireForOrg': () => s.databases.requireForOrg(ORG, 'library'),
      'databases.requireAnyForOrg': () => s.databases.requireAnyForOrg(ORG, 'library'),
      'databases.listForOrg': () => s.databases.listForOrg(ORG, page),
      'databases.addMetadataFields': () =>
        s.databases.addMetadataFields(ORG, 'library', [{ name: 'year', data_type: 'INT32' }]),
      'databases.listReadyNames': () => s.databases.listReadyNames(ORG),
      'databases.getById': () => s.databases.getById(database),
      'databases.markDeleting': () => s.databases.markDeleting(database),
      'databases.isOpen': () => s.databases.isOpen(database),
      'databases.remove': () => s.databases.remove(database),
      'databases.markGraphReady': () => s.databases.markGraphReady(database),
      'databases.markReady': () => s.databases.markReady(database),
      'feedback.getTallies': () => s.feedback.getTallies(database, [{ collection: 'default', source_id: 'a' }]),
      'items.getByKey': () => s.items.getByKey(ORG, 'itm_1'),
      'items.listGroup': () => s.items.listGroup({ org: ORG, batch: 'bat_1', group: 0 }),
      'items.listVersions': () => s.items.listVersions([version]),
      'items.end': () => inTx((tx) => s.items.end([version], { status: 'completed' }, now, tx)),
      'items.ownsFile': () => s.items.ownsFile({ org: ORG, batch: 'bat_1', file_id: 'fil_1' }),
      'items.listByKeys': () => s.items.listByKeys(ORG, ['itm_1']),
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
      'removedItems.interrupt': () => s.removedItems.interrupt(database, { limit: 10 }),
      'removedItems.listPending': () => s.removedItems.listPending({ org: ORG, removal: 'rmv_1' }, 10),
      'removedItems.markCleared': async () => {
        const [removed] = await collections.removedItems.find({ org: ORG }).toArray();
        await s.removedItems.markCleared({ org: ORG, removal: 'rmv_1' }, [removed!, { ...removed!, live: true }]);
      },
      'crewExecutions.findForOrg': () => s.crewExecutions.findForOrg(ORG, 'crew', 'id'),
      'crewExecutions.requestCancel': () => s.crewExecutions.requestCancel(ORG, 'crew', 'id'),
      'crewExecutions.listForOrg': () => s.crewExecutions.listForOrg(ORG, 'crew', page),
      'crewExecutions.listWaiting': () => s.crewExecutions.listWaiting(ORG, page),
      'crewExecutions.getById': () => s.crewExecutions.getById(ORG, 'id'),
      'crewExecutions.startTask': () => s.crewExecutions.startTask(attempt, 'model', false),
      'crewExecutions.countStep': () => inTx((tx) => s.crewExecutions.countStep(ORG, 'id', tx)),
      'crewExecutions.endTask': () => inTx((tx) => s.crewExecutions.endTask(attempt, 'text', true, now, tx)),
      'crewExecutions.remind': () => inTx((tx) => s.crewExecutions.remind(attempt, tx)),
      'crewExecutions.resume': () =>
        inTx((tx) => s.crewExecutions.resume({ ...attempt, feedback: 'fbk_1', is_approve: true }, now, tx)),
      'crewExecutions.decideAtDeadline': () => inTx((tx) => s.crewExecutions.decideAtDeadline(attempt, true, now, tx)),
      'crewExecutions.finish': () => inTx((tx) => s.crewExecutions.finish(ORG, 'id', { status: 'completed' }, now, tx)),
      'crewExecutions.removeLeftovers': () => s.crewExecutions.removeLeftovers(ORG, 'id', now),
      'crewSteps.getById': () => s.crewSteps.getById({ ...attempt, step: 1 }),
      'crewSteps.listByAttempt': () => s.crewSteps.listByAttempt(attempt),
      'crewFeedback.remove': () => s.crewFeedback.remove(ORG, 'fbk_1'),
      'crewFeedback.isApplied': () => s.crewFeedback.isApplied(ORG, 'fbk_1'),
      'crewFeedback.listApplied': () => s.crewFeedback.listApplied({ _id: 'id', org: ORG }),
      'crewSigningSecrets.set': () => s.crewSigningSecrets.set(ORG, 'a secret'),
      'crewSigningSecrets.listOpen': () => s.crewSigningSecrets.listOpen(ORG),
      'crewSigningSecrets.remove': () => s.crewSigningSecrets.remove(ORG),
      'idempotencyKeys.claim': async () => {
        await s.idempotencyKeys.claim(claim, 'fingerprint');
        await s.idempotencyKeys.claim(claim, 'fingerprint');
      },
      'idempotencyKeys.saveWith': async () => {
        const response = { status: 200, headers: {}, body: '{}' };
        const stale = { org: ORG, id: `${ORG}/POST /things/none`, token: 'none' };
        await s.idempotencyKeys
          .saveWith(
            stale,
            () => response,
            async () => undefined,
          )
          .catch(() => undefined);
      },
      'idempotencyKeys.release': () =>
        s.idempotencyKeys.release({ org: ORG, id: `${ORG}/POST /things/none`, token: 'none' }),
      'modelTokens.usedOn': () => s.modelTokens.usedOn(ORG, now),
      'modelTokens.add': () => s.modelTokens.add(ORG, 1, now),
      'organisations.find': () => s.organisations.find(ORG),
      'organisations.setLimits': () => s.organisations.setLimits(ORG, { items: 5 }),
      'organisations.clearLimits': () => s.organisations.clearLimits(ORG, ['items']),
      'authentications.findForOrg': () => s.authentications.findForOrg(ORG, 'auth_1', now),
      'authentications.listForOrg': () => s.authentications.listForOrg(ORG, page, now),
      'authentications.getById': () => s.authentications.getById(ORG, 'auth_1'),
      'authentications.expire': () => inTx((tx) => s.authentications.expire(ORG, 'auth_1', now, tx)),
      'authentications.verify': () => s.authentications.verify(ORG, 'auth_1', 'secret', now),
      'authentications.close': () => s.authentications.close(ORG, 'auth_1', now, async () => undefined),
      'authentications.findCheckData': () => s.authentications.findCheckData({ _id: 'auth_1', org: ORG } as never, now),
      'paymentSigningSecrets.generateFirst': () => s.paymentSigningSecrets.generateFirst(ORG),
      'paymentSigningSecrets.set': () => s.paymentSigningSecrets.set(ORG, 'a secret'),
      'paymentSigningSecrets.listOpen': () => s.paymentSigningSecrets.listOpen(ORG),
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
      'clientDeliveries.requeueAll': () => s.clientDeliveries.requeueAll(scope, [delivery._id]),
      'deliveries.getById': () => s.deliveries.getById(ORG, 'dlv_1'),
      'deliveries.getByDedupeKey': () => s.deliveries.getByDedupeKey(ORG, 'key'),
      'deliveries.listUnattemptedByKeys': () => s.deliveries.listUnattemptedByKeys(ORG, ['key']),
      'deliveries.listUnattempted': () => s.deliveries.listUnattempted(ORG, 'crew/'),
      'deliveries.countFailed': () => s.deliveries.countFailed(ORG, 'indexing.status_changed', 10),
      'deliveries.countWaiting': () => s.deliveries.countWaiting(ORG, 'indexing.status_changed', 10),
      'deliveries.markShown': () => s.deliveries.markShown(ORG, 'dlv_1'),
      'registrations.register': () =>
        s.registrations.register(ORG, 'https://example.com', ['indexing.status_changed'], 'a secret'),
      'registrations.findForOrg': () => s.registrations.findForOrg(ORG),
      'registrations.setSecret': () => s.registrations.setSecret(ORG, null),
      'registrations.remove': () => s.registrations.remove(ORG),
      'replays.findForOrg': () => s.replays.findForOrg(ORG, 'rpl_1'),
      'replays.advance': () => s.replays.advance({ _id: 'rpl_1', org: ORG, position: null } as never, 'dlv_1', 1),
      'replays.end': () => s.replays.end(ORG, 'rpl_1', 'completed'),
    };
  }

  test('name the organisation in every filter of a method that knows it', async () => {
    const offenders: { method: string; command: string; collection: string; fields: string[] }[] = [];
    for (const [method, call] of Object.entries(callsOf(openStores()))) {
      const from = recorded.length;
      await call();
      const sent = recorded.slice(from);
      for (const each of sent.filter((filter) => !namesShard(filter))) {
        const { command, collection, filter } = each;
        offenders.push({ method, command, collection, fields: Object.keys(filter) });
      }
    }
    expect(offenders).toEqual([]);
    expect(recorded.length).toBeGreaterThan(100);
  });

  test('find their records by an index in each of these queries', async () => {
    const commands: Document[] = [];
    const listen = ({ commandName, command }: CommandStartedEvent) => {
      if (EXPLAINABLE.includes(commandName)) commands.push(command);
    };
    collections.mongoClient.on('commandStarted', listen);
    for (const call of Object.values(callsOf(openStores()))) await call().catch(() => undefined);
    collections.mongoClient.off('commandStarted', listen);
    expect(commands.length).toBeGreaterThan(100);
    for (const command of commands) {
      const { queryPlanner, stages } = await collections.db.command({ explain: explainable(command) });
      const plan = JSON.stringify(queryPlanner ?? stages);
      expect([JSON.stringify(command), plan.includes('COLLSCAN')]).toEqual([JSON.stringify(command), false]);
    }
  });
});

describe('a transaction', () => {
  const uri = new URL(databaseBeside(sharedProduct().mongodbUri, 'organisation-in-transactions'));
  uri.searchParams.set('monitorCommands', 'true');

  test('is reported when it spans organisations, or a collection that is not with its organisation', async () => {
    const { mongoClient, items, uploads, processes, registrations } = await openTestCollections(uri.toString());
    const reported: [string, string | undefined][] = [];
    mongoClient.on(
      'commandStarted',
      watchTransactions(({ collection, fields: [span] }) => reported.push([collection, span])),
    );
    try {
      await inTransaction(mongoClient, async (session) => {
        await items.insertOne({ _id: 'itm_1', org: ORG } as never, { session });
        await uploads.updateOne({ _id: 'fil_1', org: ORG }, { $set: { size: 1 } }, { session });
        await registrations.findOne({ _id: ORG }, { session });
      });
      expect(reported).toEqual([]);
      await inTransaction(mongoClient, async (session) => {
        await items.insertOne({ _id: 'itm_2', org: ORG } as never, { session });
        await processes.findOne({}, { session });
        await uploads.findOne({ _id: 'fil_1', org: 'another' }, { session });
      });
      expect(reported).toEqual([
        ['processes', SPANS.otherKey],
        ['uploads', SPANS.organisations],
      ]);
    } finally {
      await mongoClient.db().dropDatabase();
      await mongoClient.close();
    }
  });
});

describe('the processes of the product', () => {
  // This file runs last, and the end of the run checks the filters that were sent after it.
  test('have sent no filter without an organisation that is not listed, and no transaction that spans organisations, in all tests so far', () => {
    expect(unlistedForms(process.env.POSTBACK_TEST_FILTERS!)).toEqual([]);
  });
});

const EXPLAINABLE = ['find', 'aggregate', 'count', 'distinct', 'findAndModify', 'update', 'delete'];

/** @returns the command without its session, and of several updates the first */
function explainable(command: Document): Document {
  const { updates, deletes, ...rest } = command;
  const own = Object.entries(rest).filter(([name]) => !name.startsWith('$') && !OF_SESSIONS.includes(name));
  return {
    ...Object.fromEntries(own),
    ...(updates ? { updates: updates.slice(0, 1) } : {}),
    ...(deletes ? { deletes: deletes.slice(0, 1) } : {}),
  };
}

const OF_SESSIONS = ['lsid', 'txnNumber', 'autocommit', 'startTransaction', 'writeConcern', 'readConcern'];
