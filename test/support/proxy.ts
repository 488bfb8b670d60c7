import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy to a server, whose connections a test can cut and restore. */
export interface ServerProxy {
  address: string;
  /** Ends every connection and accepts no new connections. */
  cut(): void;
  restore(): void;
  close(): Promise<void>;
}

/** @param target host:port */
export async function startProxy(target: string): Promise<ServerProxy> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const sockets = new Set<Socket>();
  let open = true;
  const server = createServer((client) => {
    if (!open) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      open = false;
      end();
    },
    restore() {
      open = true;
    },
    async close() {
      end();
      server.close();
      await once(server, 'close');
    },
  };
}
