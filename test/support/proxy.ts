import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { closeServer, listen } from './loopback.js';

/** Passes TCP connections on. */
export interface TcpProxy {
  /** `127.0.0.1:<port>` */
  address: string;
  /** Ends every connection. */
  end(): void;
  close(): Promise<void>;
}

/**
 * @param targets called for each connection: the servers (`host:port`) to try, the best first; none ends the connection
 * @param mayPass awaited before each piece that a client sends is passed on
 */
export async function startTcpProxy(
  targets: () => readonly string[],
  mayPass: () => Promise<void> = async () => undefined,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>();
  const track = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => sockets.delete(socket));
  };
  const open = (client: Socket, [target, ...others]: readonly string[]) => {
    if (target === undefined || client.destroyed) {
      client.destroy();
      return;
    }
    const { hostname, port } = new URL(`tcp://${target}`);
    const upstream = connect(Number(port), hostname);
    const tryNext = () => open(client, others);
    upstream.once('error', tryNext);
    upstream.once('connect', () => {
      upstream.off('error', tryNext);
      upstream.once('close', () => client.destroy());
      client.once('close', () => upstream.destroy());
      if (client.destroyed) upstream.destroy();
      client
        .pipe(new Transform({ transform: (piece, _, pass) => void mayPass().then(() => pass(null, piece)) }))
        .pipe(upstream)
        .pipe(client);
    });
    track(upstream);
  };
  const server = createServer((client) => {
    track(client);
    open(client, targets());
  });
  const address = await listen(server);
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address,
    end,
    async close() {
      end();
      await closeServer(server);
    },
  };
}

/** A TCP proxy to a server, whose connections a test can cut or hold, and restore. */
export interface ServerProxy {
  address: string;
  /** Ends every connection and accepts no new connections. */
  cut(): void;
  /** Keeps what clients send. */
  hold(): void;
  /** Ends a cut, and passes on what was kept. */
  restore(): void;
  close(): Promise<void>;
}

/** @param target host:port */
export async function startProxy(target: string): Promise<ServerProxy> {
  let isOpen = true;
  let held: PromiseWithResolvers<void> | undefined;
  const { address, end, close } = await startTcpProxy(
    () => (isOpen ? [target] : []),
    async () => held?.promise,
  );
  return {
    address,
    cut() {
      isOpen = false;
      end();
    },
    hold() {
      held = Promise.withResolvers();
    },
    restore() {
      isOpen = true;
      held?.resolve();
      held = undefined;
    },
    close,
  };
}
