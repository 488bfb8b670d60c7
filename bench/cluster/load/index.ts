import { setTimeout as wait } from 'node:timers/promises';
import type { KeyKind } from '../../../domain/api-keys.js';
import { createApiKeys } from '../../../storage/api-keys.js';
import type { Collections } from '../../../storage/collections.js';
import type { ClusterReceiver } from '../receiver.js';
import { connector } from './connector.js';
import { crews } from './crews.js';
import { files, replacements } from './files.js';
import { authentications, jobs } from './jobs.js';
import { DATABASE, type LoadContext, type LoadKind } from './kind.js';
import { hostile, neighbour } from './neighbours.js';
import { notes } from './notes.js';

/** Mixed work of three organisations. */
export interface Load {
  kinds: readonly LoadKind[];
  receivers: readonly ClusterReceiver[];
  /** Milliseconds from each note of the other organisation to its webhook. */
  delays(): number[];
}

/** Creates the organisations, before the first fault. */
export async function prepareLoad({
  collections,
  ...shared
}: Pick<LoadContext, 'requests' | 'random' | 'faults' | 'receiver'> & { collections: Collections }): Promise<Load> {
  const apiKeys = createApiKeys(collections);
  const createKey = async (kind: KeyKind, org: string) => (await apiKeys.create({ org, kind, label: 'bench' })).key;
  const { send } = shared.requests;
  const receivers: ClusterReceiver[] = [];
  const prepare = async (org: string, receiver: ClusterReceiver) => {
    receivers.push(receiver);
    const key = await createKey('api', org);
    await send('POST', '/webhooks/indexing', { key, body: { url: receiver.url } });
    // Signed callbacks carry the id of their delivery.
    await send('POST', '/webhooks/indexing/signing-secret', { key, body: {} });
    await send('POST', '/databases', { key, body: { database: DATABASE } });
    const isReady = async () =>
      (await send('GET', `/databases/status?database=${DATABASE}`, { key, startsWork: false })).body.data.infra
        .ready_for_ingestion;
    while (!(await isReady())) await wait(200);
    return key;
  };
  const key = await prepare('bench', shared.receiver);
  const context: LoadContext = { ...shared, createKey, key };
  const other = await neighbour(context, prepare);
  const kinds: LoadKind[] = [
    ...notes(context),
    files(context),
    replacements(context),
    jobs(context),
    await authentications(context),
    ...(await crews(context)),
    await connector(context),
    other,
    await hostile(context, prepare),
  ];
  return { kinds, delays: other.delays, receivers };
}

/** @param slowness makes the pauses between pieces of work so many times as long */
export async function sendWhile(kind: LoadKind, isOn: () => boolean, slowness: number): Promise<void> {
  while (isOn()) {
    // A rejected request is on the list of violations.
    await kind.send().catch(() => undefined);
    await wait(kind.everyMs * slowness);
  }
}
