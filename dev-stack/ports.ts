import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { type LockFile, takeLockFile } from './lock-file.js';

export interface ChosenPorts<Name extends string> {
  readonly ports: Record<Name, number>;
  /** Gives the claims back; those of a killed process lapse by themselves. */
  release(): void;
}

/**
 * Free loopback ports by name. A port of the last run is used again when it is free, so that bookmarks and copied
 * commands stay valid; else the preferred one; else any. The choice is kept in `<dir>/ports.json`.
 *
 * Each port is also claimed in `claimsDir`, which all stacks of a user share: of two that start in the same moment both
 * would see it free, and the slower would take the other's server, already answering there, for its own.
 */
export async function choosePorts<Name extends string>(
  dir: string,
  claimsDir: string,
  preferred: Record<Name, number>,
): Promise<ChosenPorts<Name>> {
  mkdirSync(claimsDir, { recursive: true });
  const remembered = read(dir);
  const claims: LockFile<never>[] = [];
  const release = () => {
    for (const claim of claims) claim.release();
  };
  const ports = {} as Record<Name, number>;
  try {
    for (const name of Object.keys(preferred) as Name[]) {
      const { port, claim } = await claimFirstFree(claimsDir, [remembered[name], preferred[name], 0, 0, 0]);
      claims.push(claim);
      ports[name] = port;
    }
  } catch (error) {
    release();
    throw error;
  }
  // Read again and written in one go: the two servers choose side by side.
  writeFileSync(join(dir, 'ports.json'), JSON.stringify({ ...read(dir), ...ports }, null, 2));
  return { ports, release };
}

async function claimFirstFree(claimsDir: string, candidates: Array<number | undefined>) {
  for (const candidate of candidates) {
    if (candidate === undefined) continue;
    const server = await tryToListen(candidate);
    if (!server) continue;
    const { port } = server.address() as { port: number };
    const taken = takeLockFile<never>(join(claimsDir, `${port}.json`));
    await new Promise((resolve) => server.close(resolve));
    if ('lock' in taken) return { port, claim: taken.lock };
  }
  throw new Error('No free port on 127.0.0.1.');
}

function tryToListen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen({ port, host: '127.0.0.1' }, () => resolve(server));
  });
}

function read(dir: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(join(dir, 'ports.json'), 'utf8')) as Record<string, number>;
  } catch {
    return {};
  }
}
