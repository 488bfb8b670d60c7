import { join } from 'node:path';
import { startChild } from '../../cli/child.js';
import { choosePorts } from '../../dev-stack/index.js';
import type { Links } from './links.js';
import { answers, type Part } from './part.js';

export type ProductKind = 'api' | 'worker' | 'embedder';

/** A process of the product. */
export interface ProductPart extends Part {
  kind: ProductKind;
  /** Where the others reach it; absent for the embedding process. */
  address?: string | undefined;
  /** Resolves when it is ready for the first time. */
  ready(): Promise<void>;
  stop(): Promise<void>;
  /** Stops it and starts it again at the same place, with this code. */
  replace(code: string | undefined): Promise<void>;
}

export interface ProductOptions {
  dir: string;
  claimsDir: string;
  links: Links;
  settings: Record<string, string | undefined>;
  log(line: string): void;
  /** The compiled code of another release; undefined: this code. */
  code: string | undefined;
}

/** Starts a process of the product. It may not be ready yet. */
export async function startProductPart(
  kind: ProductKind,
  name: string,
  { dir: folder, claimsDir, links, settings, log, code }: ProductOptions,
): Promise<ProductPart> {
  const dir = join(folder, name);
  // With faults all the time, warnings are many: they are in the log of the process.
  const print = (line: string) => line.includes(' ended (') && log(`${name}: ${line}`);
  const { env, port, release, link, address } = await placeOf();
  const start = (release: string | undefined) => startChild(kind, { ...settings, ...env }, dir, print, release);
  let child = start(code);
  return {
    kind,
    name,
    link,
    address,
    pid: () => child.pid(),
    // The embedding process is well when it runs.
    isWell: async () => port === undefined || answers(`http://127.0.0.1:${port}/healthz`),
    ready: () => child.ready,
    async stop() {
      await child.stop();
      release();
    },
    async replace(release) {
      await child.stop();
      child = start(release);
      await child.ready;
    },
  };

  /** Where it listens, and its link: to an API, or from a worker, which loses Temporal when it is cut off. */
  async function placeOf() {
    if (kind === 'embedder') return { env: {}, release: () => undefined };
    const { ports, release } = await choosePorts(folder, claimsDir, { [name]: 0 });
    const port = ports[name]!;
    const direct = `127.0.0.1:${port}`;
    const link = !links.canFail ? undefined : kind === 'api' ? name : `${name} to temporal`;
    if (kind === 'api')
      return { env: { POSTBACK_API_PORT: `${port}` }, port, release, link, address: await links.add(name, direct) };
    const temporal = settings.TEMPORAL_ADDRESS!;
    const TEMPORAL_ADDRESS = link === undefined ? temporal : await links.add(link, temporal);
    const env = { POSTBACK_WORKER_HEALTH_PORT: `${port}`, TEMPORAL_ADDRESS };
    return { env, port, release, link, address: direct };
  }
}
