import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { readJsonFile } from './json-file.js';
import { acquireProcessLock, type ProcessLock } from './process-lock.js';

export interface ChosenPorts<Name extends string> {
  readonly ports: Record<Name, number>;
  /** Releases the claims. Claims of a killed process expire by themselves. */
  release(): void;
}

/**
 * Where free ports are looked for: below the ports that systems give to outgoing connections (from 32,768 on Linux). Such a
 * connection could take a port of that range between the choice and the start of the server.
 */
const FREE_PORTS = { from: 20_000, to: 32_000 };
const FREE_PORT_ATTEMPTS = 20;
/** How often a server is started on new ports when another program takes one between the choice and the start. */
const START_ATTEMPTS = 3;

/**
 * Chooses free loopback ports by name: the port that was asked for, else that of the last run, so that bookmarks and copied
 * commands stay valid, else the preferred port, else any free port. A port of 0 stands for any. The choice is stored in
 * `<dir>/ports.json`.
 *
 * Each port is also claimed in `claimsDir`, which all stacks of a user share. Without a claim, two stacks that start at
 * the same time could both find a port free, and the second would talk to the first one's server.
 */
export async function choosePorts<Name extends string>(
  dir: string,
  claimsDir: string,
  preferred: Record<Name, number>,
  asked: Partial<Record<Name, number>> = {},
): Promise<ChosenPorts<Name>> {
  mkdirSync(claimsDir, { recursive: true });
  const path = join(dir, 'ports.json');
  const readPorts = () => readJsonFile<Record<string, number>>(path) ?? {};
  const previous = readPorts();
  const claims: ProcessLock[] = [];
  const release = () => {
    for (const claim of claims) claim.release();
  };
  const ports = {} as Record<Name, number>;
  try {
    for (const name of Object.keys(preferred) as Name[]) {
      const candidates = [asked[name], previous[name], preferred[name], ...somePorts()];
      const { port, claim } = await claimFirstFree(claimsDir, candidates);
      claims.push(claim);
      ports[name] = port;
    }
  } catch (error) {
    release();
    throw error;
  }
  // Read again right before writing: the two servers choose their ports concurrently.
  writeFileSync(path, JSON.stringify({ ...readPorts(), ...ports }, null, 2));
  return { ports, release };
}

/** Calls `start` with chosen ports, and again with others when a port was taken in between. */
export async function startOnPorts<Name extends string, Server extends { stop(): Promise<void> }>(
  { dir, claimsDir }: { dir: string; claimsDir: string },
  preferred: Record<Name, number>,
  start: (ports: Record<Name, number>) => Promise<Server>,
): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const { ports, release }: ChosenPorts<Name> = await choosePorts(dir, claimsDir, preferred);
    try {
      const server = await start(ports);
      return { ...server, stop: () => server.stop().finally(release) };
    } catch (error) {
      release();
      if (attempt === START_ATTEMPTS || !/address already in use/i.test((error as Error).message)) throw error;
    }
  }
}

function somePorts(): number[] {
  return Array.from({ length: FREE_PORT_ATTEMPTS }, () => randomInt(FREE_PORTS.from, FREE_PORTS.to));
}

async function claimFirstFree(claimsDir: string, candidates: Array<number | undefined>) {
  for (const candidate of candidates) {
    if (!candidate) continue;
    const server = await tryToListen(candidate);
    if (!server) continue;
    const result = acquireProcessLock(join(claimsDir, `${candidate}.json`));
    await new Promise((resolve) => server.close(resolve));
    if ('lock' in result) return { port: candidate, claim: result.lock };
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
