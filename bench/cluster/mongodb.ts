import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { mongodArguments, REPLICA_SET } from '../../dev-stack/mongod.js';
import { startOnPorts } from '../../dev-stack/ports.js';
import { startRestarting } from '../../dev-stack/restarting-server.js';
import { type ServerOptions, startSupervisedChild, waitUntilReady } from '../../dev-stack/supervised-child.js';
import { eventually } from '../../test/support/eventually.js';
import type { Links } from './links.js';
import type { Part } from './part.js';

const MEMBERS = [1, 2, 3];
const PROBE_MS = 2_000;

/** Starts a replica set of three. Its members know each other by their links, as the product does. */
export async function startReplicaSet(options: ServerOptions, links: Links) {
  const members = await Promise.all(MEMBERS.map((number) => startMember(options, number, links)));
  const [first] = members;
  await onMember(first!.direct, (command) =>
    command({
      replSetInitiate: { _id: REPLICA_SET, members: members.map(({ address }, at) => ({ _id: at, host: address })) },
    }),
  );
  await eventually('a primary', async () => {
    const states = await Promise.all(members.map(({ direct }) => hello(direct)));
    return states.some(({ isWritablePrimary }) => isWritablePrimary) && states.every(isInUse);
  });
  const hosts = members.map(({ address }) => address).join(',');
  return {
    uri: `mongodb://${hosts}/postback?replicaSet=${REPLICA_SET}`,
    parts: members.map(({ part }) => part),
    stop: async () => void (await Promise.all(members.map(({ stop }) => stop()))),
  };
}

async function startMember({ binary, dir: folder, claimsDir, env, log }: ServerOptions, number: number, links: Links) {
  const name = `mongod-${number}`;
  const dir = join(folder, name);
  mkdirSync(join(dir, 'data'), { recursive: true });
  const server = await startOnPorts({ dir, claimsDir }, { mongodb: 0 }, ({ mongodb: port }) =>
    startRestarting(
      name,
      async () => {
        const direct = `127.0.0.1:${port}`;
        const started = await startSupervisedChild({
          command: binary,
          args: mongodArguments(join(dir, 'data'), port),
          env,
          logFile: join(dir, 'mongod.log'),
          pidFile: join(dir, 'mongod.pid'),
        });
        await waitUntilReady(started, name, async () => (await hello(direct)).ok === 1);
        return { ...started, direct };
      },
      log,
    ),
  );
  const { direct } = server;
  const part: Part = { name, pid: server.pid, failed: server.failed, isWell: () => isMemberInUse(direct), link: name };
  return { part, direct, address: await links.add(name, direct), stop: server.stop };
}

/** @returns whether the member at this address (`host:port`) is the primary or follows it */
export async function isMemberInUse(address: string): Promise<boolean> {
  return isInUse(await hello(address));
}

function isInUse({ isWritablePrimary, secondary }: Document): boolean {
  return isWritablePrimary === true || secondary === true;
}

function hello(address: string): Promise<Document> {
  return onMember(address, (command) => command({ hello: 1 }));
}

async function onMember<T>(address: string, work: (command: (document: Document) => Promise<Document>) => Promise<T>) {
  const timeouts = { serverSelectionTimeoutMS: PROBE_MS, connectTimeoutMS: PROBE_MS, socketTimeoutMS: PROBE_MS };
  const client = new MongoClient(`mongodb://${address}`, { directConnection: true, ...timeouts });
  try {
    return await work((document) => client.db('admin').command(document));
  } finally {
    await client.close();
  }
}
