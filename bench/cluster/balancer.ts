import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { closeServer, listen } from '../../test/support/loopback.js';
import { startTcpProxy } from '../../test/support/proxy.js';

/** Spreads requests or connections over servers that pass its probe. */
export interface Balancer {
  /** `127.0.0.1:<port>` */
  address: string;
  /** Sends no more to this server until it is put back. Resolves when it has no request in progress. */
  takeOut(target: string): Promise<void>;
  putBack(target: string): void;
  close(): Promise<void>;
}

/** @returns whether a server of this address (`host:port`) takes work */
export type Probe = (target: string) => Promise<boolean>;

const PROBE_EVERY_MS = 1_000;
/** Failed probes in a row after which a server gets no more. */
const MAX_FAILED = 2;

/** The servers in turn, without those that fail their probe. When all fail, all are tried. */
function createTurns(targets: readonly string[], probe: Probe) {
  const failed = new Map(targets.map((target) => [target, 0]));
  const out = new Set<string>();
  const closing = new AbortController();
  let turn = 0;
  for (const target of targets) {
    void (async () => {
      while (!closing.signal.aborted) {
        const passes = await probe(target).catch(() => false);
        failed.set(target, passes ? 0 : failed.get(target)! + 1);
        await wait(PROBE_EVERY_MS, undefined, { signal: closing.signal }).catch(() => undefined);
      }
    })();
  }
  return {
    out,
    /** @returns the servers to try, the best first */
    next(): string[] {
      turn += 1;
      const inTurn = targets.map((_, at) => targets[(at + turn) % targets.length]!).filter((each) => !out.has(each));
      const passing = inTurn.filter((target) => failed.get(target)! < MAX_FAILED);
      return passing.length > 0 ? passing : inTurn;
    },
    close: () => closing.abort(),
  };
}

/**
 * Balances HTTP by request. A request that no server has received goes to the next one; any other failure is the client's
 * to retry, because the server may have done the work.
 */
export async function startHttpBalancer(targets: readonly string[], probe: Probe): Promise<Balancer> {
  const turns = createTurns(targets, probe);
  const running = new Map(targets.map((target) => [target, 0]));
  const forward = (incoming: IncomingMessage, outgoing: ServerResponse, [target, ...others]: string[]) => {
    if (target === undefined) {
      if (!outgoing.headersSent) outgoing.writeHead(502);
      outgoing.end();
      return;
    }
    const { hostname: host, port } = new URL(`tcp://${target}`);
    const { method, url: path, headers } = incoming;
    const upstream = httpRequest({ host, port, method, path, headers, agent: false });
    running.set(target, running.get(target)! + 1);
    upstream.once('close', () => running.set(target, running.get(target)! - 1));
    let connected = false;
    upstream.once('socket', (socket) =>
      socket.once('connect', () => {
        connected = true;
        incoming.pipe(upstream);
      }),
    );
    upstream.once('response', (response) => {
      outgoing.writeHead(response.statusCode!, response.headers);
      response.pipe(outgoing);
      response.once('close', () => {
        if (!response.complete) outgoing.destroy();
      });
    });
    upstream.on('error', () => {
      if (outgoing.destroyed) return;
      if (!connected) forward(incoming, outgoing, others);
      else if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(502, { Connection: 'close' }).end();
    });
    // A client that gives up must not keep its request running.
    outgoing.once('close', () => upstream.destroy());
  };
  const server = createServer((incoming, outgoing) => {
    incoming.on('error', () => undefined);
    forward(incoming, outgoing, turns.next());
  });
  const address = await listen(server);
  return {
    address,
    async takeOut(target) {
      turns.out.add(target);
      while (running.get(target)! > 0) await wait(50);
    },
    putBack: (target) => void turns.out.delete(target),
    async close() {
      turns.close();
      await closeServer(server);
    },
  };
}

/** Balances TCP by connection, as a Service of Kubernetes does: a connection stays where it is until its end. */
export async function startTcpBalancer(
  targets: readonly string[],
  probe: Probe,
): Promise<Pick<Balancer, 'address' | 'close'>> {
  const turns = createTurns(targets, probe);
  const proxy = await startTcpProxy(turns.next);
  return {
    address: proxy.address,
    async close() {
      turns.close();
      await proxy.close();
    },
  };
}
