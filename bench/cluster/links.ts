import { join } from 'node:path';
import { choosePorts } from '../../dev-stack/ports.js';
import type { ServerOptions } from '../../dev-stack/supervised-child.js';
import { startSupervisedChild, waitUntilReady } from '../../dev-stack/supervised-child.js';

/** What can happen to the connections of a link. */
export const LINK_FAULTS = {
  /** Nothing passes; connections stay open until the end, as when a switch drops all packets. */
  partition: [{ type: 'timeout', attributes: { timeout: 0 } }],
  /** Every connection is reset soon after it has been opened. */
  resets: [{ type: 'reset_peer', attributes: { timeout: 500 } }],
  latency: [{ type: 'latency', attributes: { latency: 300, jitter: 200 } }],
  /** Kilobytes a second. */
  'slow link': [{ type: 'bandwidth', attributes: { rate: 20 } }],
} as const;

export type LinkFault = keyof typeof LINK_FAULTS;

/** The ways between the processes of the cluster. */
export interface Links {
  /** @param upstream `host:port` @returns the address that the others use */
  add(name: string, upstream: string): Promise<string>;
  impair(name: string, fault: LinkFault): Promise<void>;
  heal(name: string): Promise<void>;
  /** Whether links can be impaired. */
  canFail: boolean;
  stop(): Promise<void>;
}

/** Every process reaches the others directly. */
export const DIRECT: Links = {
  add: async (_name, upstream) => upstream,
  impair: () => Promise.reject(new Error('a direct link cannot be impaired')),
  heal: async () => undefined,
  canFail: false,
  stop: async () => undefined,
};

/** Starts Toxiproxy, with a proxy for each link. */
export async function startLinks({ binary, dir, claimsDir, env }: ServerOptions): Promise<Links> {
  const { ports, release } = await choosePorts(dir, claimsDir, { toxiproxy: 0 });
  const api = `http://127.0.0.1:${ports.toxiproxy}`;
  const server = await startSupervisedChild({
    command: binary,
    args: ['-host', '127.0.0.1', '-port', `${ports.toxiproxy}`],
    env: { ...env, LOG_LEVEL: 'warn' },
    logFile: join(dir, 'toxiproxy.log'),
    pidFile: join(dir, 'toxiproxy.pid'),
  });
  const send = async (method: string, path: string, body?: object) => {
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(api + path, { method, headers: { 'User-Agent': 'postback-bench' }, ...json });
    const text = await response.text();
    if (!response.ok) throw new Error(`Toxiproxy: ${method} ${path}: ${response.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  await waitUntilReady(server, 'Toxiproxy', async () => (await fetch(`${api}/version`)).ok);
  return {
    canFail: true,
    async add(name, upstream) {
      const { listen } = await send('POST', '/proxies', { name, listen: '127.0.0.1:0', upstream, enabled: true });
      return listen;
    },
    async impair(name, fault) {
      for (const toxic of LINK_FAULTS[fault])
        for (const stream of ['upstream', 'downstream'])
          await send('POST', `/proxies/${name}/toxics`, { name: `${toxic.type}-${stream}`, stream, ...toxic });
    },
    async heal(name) {
      const toxics: { name: string }[] = await send('GET', `/proxies/${name}/toxics`);
      for (const toxic of toxics) await send('DELETE', `/proxies/${name}/toxics/${toxic.name}`);
    },
    async stop() {
      await server.stop();
      release();
    },
  };
}
