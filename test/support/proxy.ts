import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP connection to a server that a test can cut and mend. */
export interface ServerProxy {
  address: string;
  /** Ends every connection and takes no new one. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** @param target host:port */
export async function startProxy(target: string): Promise<ServerProxy> {
  const { hostname, port } = new URL(`tcp://${target}`);
  const sockets = new Set<Socket>();
  let whole = true;
  const server = createServer((client) => {
    if (!whole) {
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
      whole = false;
      end();
    },
    mend() {
      whole = true;
    },
    async close() {
      end();
      server.close();
      await once(server, 'close');
    },
  };
}
