import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import { startHttpBalancer } from '../bench/cluster/balancer.js';
import { findDuplicates } from '../bench/cluster/check.js';
import { createFaultLog, type FaultEvent } from '../bench/cluster/faults.js';
import { createRandom } from '../bench/cluster/random.js';
import type { Behaviour, ClusterReceiver, ReceivedCallback } from '../bench/cluster/receiver.js';

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
  });

  test('a callback that is sent again because the receiver did not accept it is no duplicate', () => {
    const receiver = receiverOf([1_000, 'rejects'], [2_000, 'hangs'], [9_000, 'accepts']);
    const { explained, unexplained } = findDuplicates([receiver], faultsOf());
    expect([explained.size, unexplained]).toEqual([0, []]);
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
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    // Port 1 refuses connections, so each request reaches the server, whichever is asked first.
    const balancer = await startHttpBalancer(['127.0.0.1:1', address], async () => true);
    for (let n = 0; n < 2; n++) expect((await fetch(`http://${balancer.address}/`)).status).toBe(502);
    expect(received).toBe(2);
    await balancer.close();
    server.close();
  });
});
