import { createAiJobActivities } from '../activities/ai-jobs/run-ai-job.js';
import { createConnectorRemovalActivities } from '../activities/connectors/remove-connector.js';
import { createSyncActivities } from '../activities/connectors/sync-connector.js';
import { createClearOutdated, createItemRemovalActivities } from '../activities/content/clear-items.js';
import { createDatabaseActivities } from '../activities/content/databases.js';
import { createIndexItemsActivities } from '../activities/content/index-items.js';
import { createLargeItemActivities } from '../activities/content/index-large-item.js';
import { createItemMaintenanceActivities } from '../activities/content/item-maintenance.js';
import { createRunsAlone } from '../activities/content/item-runs.js';
import { createRebuildActivities } from '../activities/content/rebuild-index.js';
import { createCrewActivities } from '../activities/crews/run-crew.js';
import { createPaymentActivities } from '../activities/payments/expire-authentication.js';
import { createReconcileActivities } from '../activities/reconcile.js';
import { createDeliveryActivities } from '../activities/webhooks/deliver-webhook.js';
import { createFailureNotices } from '../activities/webhooks/operator-callback.js';
import { createReceiverRates } from '../activities/webhooks/receiver-rates.js';
import { createReplayActivities } from '../activities/webhooks/replay-deliveries.js';
import { createSender } from '../activities/webhooks/sender.js';
import { parseAllowedCidrs } from '../domain/address-rules.js';
import { FILE_QUEUE, GROUP_QUEUE } from '../domain/content/workflow-contract.js';
import { createSources } from '../providers/connectors/index.js';
import { describeFile, detectFileKind } from '../providers/extraction/index.js';
import { createOutboundClient } from '../providers/outbound/guarded-client.js';
import type { Config } from '../runtime/config.js';
import { createRetrieval } from '../storage/content/retrieval.js';
import { createStarters } from '../temporal/starters.js';
import { createCallbacks } from './callbacks.js';
import type { WorkerDependencies } from './dependencies.js';
import { listStaleWork } from './stale-work.js';
import { DELIVERY_SLOTS } from './workers.js';

/** Time limit of one start by the reconciler, so that a start that hangs does not use up the run. */
const START_LIMIT_MS = 10_000;

/**
 * The activities of each task queue. The type of each factory names the dependencies that it uses.
 * `sender` makes the attempts at deliveries; `cancelAttempts` cancels those in progress, so that they release their claims.
 */
export function createActivities(config: Config, dependencies: WorkerDependencies) {
  // A client of its own, so that cancelling attempts does not fail the fetches of jobs and connectors.
  const outbound = createOutboundClient({
    allowedCidrs: parseAllowedCidrs(config.OUTBOUND_ALLOW_CIDRS),
    proxy: config.POSTBACK_CALLBACK_PROXY,
  });
  const notices = createFailureNotices(dependencies.operatorNotices, dependencies.log);
  const sender = createSender({
    ...dependencies,
    outbound,
    notices,
    callbacks: createCallbacks(config, { ...dependencies, notices }),
    receiverRates: createReceiverRates(dependencies),
    places: DELIVERY_SLOTS.all,
    random: Math.random,
  });
  const { small, large, content } = contentActivities(dependencies);
  const activities = {
    content,
    [FILE_QUEUE]: { ...small, ...large },
    [GROUP_QUEUE]: small,
    ai: aiJobActivities(config, dependencies),
    connectors: connectorActivities(config, dependencies),
    crews: crewActivities(config, dependencies),
    deliveries: {
      ...createDeliveryActivities({ ...dependencies, sender }),
      ...createReplayActivities(dependencies),
    },
    control: controlActivities(config, dependencies),
  };
  return { activities, sender, cancelAttempts: () => outbound.close() };
}

function contentActivities(dependencies: WorkerDependencies) {
  const items = { ...dependencies, clearOutdated: createClearOutdated(dependencies), runsAlone: createRunsAlone() };
  const small = createIndexItemsActivities(items);
  const large = createLargeItemActivities(items);
  const others = { ...createItemMaintenanceActivities(dependencies), ...createRebuildActivities(dependencies) };
  return { small, large, content: { ...small, ...large, ...others } };
}

function controlActivities(config: Config, dependencies: WorkerDependencies) {
  return {
    ...createItemRemovalActivities(dependencies),
    ...createConnectorRemovalActivities(dependencies),
    ...createPaymentActivities(dependencies),
    ...createDatabaseActivities({
      ...dependencies,
      removeConnectors: dependencies.connectors.markDatabaseDeleted,
    }),
    ...createReconcileActivities({
      ...dependencies,
      staleWork: listStaleWork(
        dependencies,
        createStarters(dependencies.client, { now: dependencies.now, deadlineMs: START_LIMIT_MS }),
      ),
      quietMs: config.POSTBACK_RECONCILE_QUIET_SECONDS * 1000,
    }),
  };
}

function aiJobActivities(config: Config, dependencies: WorkerDependencies) {
  return createAiJobActivities({
    ...dependencies,
    describeFile,
    maxFileBytes: config.POSTBACK_MAX_FILE_BYTES,
    fetchTimeoutMs: config.POSTBACK_FETCH_TIMEOUT_SECONDS * 1000,
  });
}

function connectorActivities(config: Config, dependencies: WorkerDependencies) {
  return createSyncActivities({
    ...dependencies,
    detectKind: detectFileKind,
    openSource: createSources(
      dependencies.outbound,
      {
        timeoutMs: config.POSTBACK_CONNECTOR_TIMEOUT_SECONDS * 1000,
        maxBytes: config.POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES,
      },
      dependencies.foreignParser,
    ),
    maxResources: config.POSTBACK_CONNECTOR_MAX_RESOURCES,
  });
}

function crewActivities(config: Config, dependencies: WorkerDependencies) {
  return createCrewActivities({
    ...dependencies,
    publicUrl: config.POSTBACK_PUBLIC_URL ?? null,
    toolSecrets: config.POSTBACK_CREW_TOOL_SECRETS,
    describeFile,
    retrieval: createRetrieval(dependencies),
  });
}
