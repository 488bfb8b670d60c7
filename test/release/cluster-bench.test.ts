import { createServer } from 'node:http';
import { connect, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, test } from '@jest/globals';
import { startHttpBalancer, startTcpBalancer } from '../../bench/cluster/balancer.js';
import { findDuplicates } from '../../bench/cluster/check.js';
import { createFaultLog, type FaultEvent, planFaults } from '../../bench/cluster/faults.js';
import { LINK_FAULTS } from '../../bench/cluster/links.js';
import { createRandom } from '../../bench/cluster/random.js';
import {
  type Behaviour,
  type ClusterReceiver,
  type ReceivedCallback,
  startClusterReceiver,
} from '../../bench/cluster/receiver.js';
import { eventually } from '../support/eventually.js';
import { closeServer, listen } from '../support/loopback.js';
import { startS3 } from '../support/s3.js';

// What the bench concludes. What it does to a cluster is in bench/README.md.
describe('the bench of a cluster', () => {
  const MINUTE = 60_000;

  function receiverOf(...received: [at: number, behaviour: Behaviour][]): ClusterReceiver {
    const callbacks = received.map(([at, behaviour]): ReceivedCallback => {
      return { webhookId: 'dlv_1', body: { id: 'note' }, at, behaviour };
    });
    return { url: '', received: callbacks, close: async () => undefined };
  }
  function faultsOf(...events: FaultEvent[]) {
    const faults = createFaultLog();
    faults.events.push(...events);
    return faults;
  }

  test('a callback that is sent again after it was accepted needs a fault as its reason', () => {
    const receiver = receiverOf([10 * MINUTE, 'accepts'], [10 * MINUTE + 5_000, 'accepts']);
    const kill = { part: 'worker-1', kind: 'kill', from: 10 * MINUTE - 1_000, until: 10 * MINUTE + 2_000 } as const;
    const explained = findDuplicates([receiver], faultsOf(kill));
    expect([...explained.explained]).toEqual([['kill worker-1', 1]]);
    expect(explained.unexplained).toEqual([]);
    const longAgo = { ...kill, from: 0, until: 1_000 };
    expect(findDuplicates([receiver], faultsOf(longAgo)).unexplained).toHaveLength(1);
    const elsewhere = { ...kill, part: 'api-1' };
    expect(findDuplicates([receiver], faultsOf(elsewhere)).unexplained).toHaveLength(1);
  });

  test('a callback that is sent again because the receiver did not accept it is no duplicate', () => {
    const receiver = receiverOf([1_000, 'rejects'], [2_000, 'hangs'], [9_000, 'accepts']);
    const { explained, unexplained } = findDuplicates([receiver], faultsOf());
    expect([explained.size, unexplained]).toEqual([0, []]);
  });

  test('callbacks of two jobs are no duplicates of each other, and two of one job are', async () => {
    const receiver = await startClusterReceiver(() => 'accepts');
    for (const job_id of ['a', 'b', 'b'])
      await fetch(receiver.url, { method: 'POST', body: JSON.stringify({ job_id, status: 'success' }) });
    await receiver.close();
    expect(findDuplicates([receiver], faultsOf()).unexplained).toEqual([expect.stringMatching(/^b \(b\) again/)]);
  });

  test('a seed decides the order of the faults', () => {
    const values = Array.from({ length: 20 }, (_, n) => n);
    expect(createRandom(7).shuffled(values)).toEqual(createRandom(7).shuffled(values));
    expect(createRandom(7).shuffled(values)).not.toEqual(createRandom(8).shuffled(values));
    expect(
      createRandom(7)
        .shuffled(values)
        .sort((a, b) => a - b),
    ).toEqual(values);
  });

  test('its balancer repeats only requests that no server has received', async () => {
    let received = 0;
    const server = createServer((request) => {
      received += 1;
      request.socket.destroy();
    });
    const address = await listen(server);
    // Port 1 refuses connections, so each request reaches the server, whichever is asked first.
    const balancer = await startHttpBalancer(['127.0.0.1:1', address], async () => true);
    for (let n = 0; n < 2; n++) expect((await fetch(`http://${balancer.address}/`)).status).toBe(502);
    expect(received).toBe(2);
    await balancer.close();
    server.close();
  });

  test('a server that was taken out of its balancer has answered its requests, and gets no more', async () => {
    const answers: (() => void)[] = [];
    const servers = ['a', 'b'].map((name) =>
      createServer((_, response) => void answers.push(() => response.end(name))),
    );
    const addresses = await Promise.all(servers.map(listen));
    const balancer = await startHttpBalancer(addresses, async () => true);
    const get = async () => (await fetch(`http://${balancer.address}/`)).text();
    const both = Promise.all([get(), get()]);
    await eventually('both requests', () => answers.length === 2);
    let isOut = false;
    const out = balancer.takeOut(addresses[0]!).then(() => {
      isOut = true;
    });
    expect(isOut).toBe(false);
    for (const answer of answers.splice(0)) answer();
    await out;
    expect((await both).sort()).toEqual(['a', 'b']);
    const others = Promise.all([get(), get()]);
    await eventually('two more requests', () => answers.length === 2);
    for (const answer of answers.splice(0)) answer();
    expect(await others).toEqual(['b', 'b']);
    await balancer.close();
    await Promise.all(servers.map(closeServer));
  });

  test('its balancer of connections passes over a server that refuses them', async () => {
    const server = createTcpServer((socket) => socket.end('here'));
    const address = await listen(server);
    const balancer = await startTcpBalancer(['127.0.0.1:1', address], async () => true);
    for (let n = 0; n < 2; n++) {
      const [host, port] = balancer.address.split(':');
      expect(await text(connect(Number(port), host))).toBe('here');
    }
    await balancer.close();
    await closeServer(server);
  });

  test('a write to its bucket that is cut off changes nothing, and holds up no other request', async () => {
    const s3 = await startS3('bench');
    await s3.putPartly('part');
    await s3.put('whole', 'text');
    expect(await s3.keys()).toEqual(['whole']);
    await s3.close();
  });

  test('every part is killed, frozen and cut off in turn before any is hit again', () => {
    const parts = ['a', 'b', 'c', 'd'].map((name) => ({ name, link: name }));
    const planned = planFaults([...parts, { name: 'e', link: undefined }], true, createRandom(3), 0);
    const rounds = [planned.slice(0, 5), planned.slice(5, 10), planned.slice(10)];
    const namesOf = (round: typeof planned) => round.map(({ part }) => part.name).sort();
    expect(rounds.map(namesOf)).toEqual([[...'abcde'], [...'abcde'], [...'abcd']]);
    for (const { name } of parts) {
      const kinds = planned.filter(({ part }) => part.name === name).map(({ kind }) => kind);
      expect([name, kinds]).toEqual([name, expect.arrayContaining(['kill', 'freeze'])]);
      expect(kinds).toHaveLength(3);
    }
    const ofLinks = planned.map(({ kind }) => kind).filter((kind) => kind !== 'kill' && kind !== 'freeze');
    expect(ofLinks.sort()).toEqual(Object.keys(LINK_FAULTS).sort());
  });
});
