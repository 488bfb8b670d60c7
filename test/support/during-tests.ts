import { afterAll, beforeAll } from '@jest/globals';
import type { Client as TemporalClient } from '@temporalio/client';
import type { Collections } from '../../storage/collections.js';
import { connectTemporal } from '../../temporal/connection.js';
import type { Client } from './client.js';
import { type CrewClient, createCrewClient } from './crew-client.js';
import { createJobClient, type JobClient } from './job-client.js';
import { testCollections } from './mongodb.js';
import { clientOf, registeredReceiver } from './organisation.js';
import { makeKey, type Product, type ProductAddress, sharedProduct, startProcesses } from './product.js';
import { type Receiver, startReceiver } from './receiver.js';

/**
 * Opens an object before the tests of the file or block, and closes it after them. Jest calls hooks in the order of their
 * definition, so a `beforeAll` below can use the object, and an `afterAll` below runs after it is closed.
 * @param close `close()` of the object by default
 * @returns stands for the object, which hooks and tests can use
 */
export function duringTests<T extends { close(): unknown }>(open: () => T | Promise<T>): T;
export function duringTests<T extends object>(open: () => T | Promise<T>, close: (opened: T) => unknown): T;
export function duringTests<T extends { close?(): unknown }>(
  open: () => T | Promise<T>,
  close: (opened: T) => unknown = (closable) => closable.close?.(),
): T {
  let opened: T | undefined;
  beforeAll(async () => {
    opened = await open();
  });
  afterAll(async () => {
    if (opened) await close(opened);
  });
  const object = (): T => {
    if (!opened) throw new Error('not open: objects of `duringTests` can be used in hooks and tests');
    return opened;
  };
  return new Proxy({} as T, {
    get: (_, key) => Reflect.get(object(), key),
    set: (_, key, value) => Reflect.set(object(), key, value),
    ownKeys: () => Reflect.ownKeys(object()),
    getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(object(), key),
  });
}

/** A client with a new key of the organisation. */
export function clientDuringTests(org: string, product?: ProductAddress): Client {
  return duringTests(
    () => clientOf(org, product),
    () => undefined,
  );
}

/** A client of the AI job service, with a new key of the organisation. */
export function jobClientDuringTests(org: string, product: ProductAddress = sharedProduct()): JobClient {
  return duringTests(
    async () => createJobClient(product.apiUrl, (await makeKey(product.mongodbUri, org)).key),
    () => undefined,
  );
}

/** A client of the deployed crew `support-reply`, with a new key of the organisation. */
export function crewDuringTests(org: string, kind: 'crew_org' | 'crew_user' = 'crew_org'): CrewClient {
  const { apiUrl, mongodbUri } = sharedProduct();
  return duringTests(
    async () => createCrewClient(apiUrl, 'support-reply', (await makeKey(mongodbUri, org, kind)).key),
    () => undefined,
  );
}

/** @param api its organisation sends its indexing webhooks to the receiver */
export function receiverDuringTests(api?: Client): Receiver {
  return duringTests(() => (api ? registeredReceiver(api) : startReceiver()));
}

/** Processes of their own beside the shared product; see `startProcesses`. */
export function processesDuringTests(name: string, settings: () => Record<string, string>): Product {
  return duringTests(
    () => startProcesses(name, settings()),
    (product) => product.remove(),
  );
}

/** The collections of a database, with their indexes. */
export function collectionsDuringTests(uri: string): Collections {
  return duringTests(
    () => testCollections(uri),
    ({ mongoClient }) => mongoClient.close(),
  );
}

/** A client of the shared Temporal server. */
export function temporalDuringTests(namespace = 'default'): TemporalClient {
  return duringTests(
    () => connectTemporal(sharedProduct().temporalAddress, namespace),
    ({ connection }) => connection.close(),
  );
}
