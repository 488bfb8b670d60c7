import { accessSync, constants, existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { dirname, resolve } from 'node:path';
import { MongoClient } from 'mongodb';
import type { Schemas } from '../client/index.js';
import { SEARCH_ATTRIBUTE_TYPES } from '../domain/search-attributes.js';
import type { Config } from '../runtime/config.js';
import { withTemporal } from './connections.js';
import { readDevelopmentFile, runningSettings } from './data-folder.js';
import { platformProblem, thisMachine } from './platform.js';
import { byteSize, paint, print } from './remote/output.js';
import { findServer, type ServerOptions } from './remote/server.js';

interface Finding {
  state: 'ok' | 'warning' | 'problem';
  about: string;
  detail: string;
  /** What to do; absent when all is well. */
  advice?: string;
}

const NODE_TO_USE = 24;
const FREE_BYTES = 2 * 1024 ** 3;
const MEMORY_BYTES = 3 * 1024 ** 3;
/** Receivers reject callbacks whose time is five minutes away from their clock. The doctor reports it earlier. */
const CLOCK_TOLERANCE_MS = 60_000;
const CONNECT_MS = 3_000;
const MARKS = { ok: paint('green', '✓'), warning: paint('yellow', '!'), problem: paint('red', '✗') };

/** `postback doctor`: looks for what is wrong with this set-up, and says how to fix it. The exit code is 1 with a problem. */
export async function doctor(options: ServerOptions): Promise<void> {
  const findings = [checkNode(), checkPlatform(), checkMemory(), ...(await checkSettings(options))];
  print(options, { findings }, () => {
    return findings
      .map(({ state, about, detail, advice }) => {
        return `${MARKS[state]} ${about.padEnd(12)} ${detail}${advice ? `\n${' '.repeat(15)}→ ${advice}` : ''}`;
      })
      .join('\n');
  });
  if (findings.some(({ state }) => state === 'problem')) process.exitCode = 1;
}

const finding =
  (state: Finding['state']) =>
  (about: string, detail: string, advice?: string): Finding => ({ state, about, detail, advice });
const ok = finding('ok');
const warning = finding('warning');
const problem = finding('problem');

function checkNode(): Finding {
  const { node } = process.versions;
  if (Number.parseInt(node, 10) >= NODE_TO_USE) return ok('Node.js', node);
  return warning('Node.js', node, `Postback runs on it, but is built for Node ${NODE_TO_USE}: install that.`);
}

function checkPlatform(): Finding {
  const machine = thisMachine();
  const found = platformProblem(machine);
  if (found) return problem('Platform', found.detail, found.advice);
  return ok('Platform', `${machine.platform}-${machine.arch}`);
}

function checkMemory(): Finding {
  const size = byteSize(totalmem());
  if (totalmem() >= MEMORY_BYTES) return ok('Memory', size);
  return warning('Memory', size, 'At work, everything together needs about 1.5 GiB: use a machine with 4 GiB.');
}

async function checkSettings(options: ServerOptions): Promise<Finding[]> {
  let config: Config;
  try {
    config = runningSettings(process.env);
  } catch (error) {
    return [problem('Settings', (error as Error).message, 'See docs/settings.md.')];
  }
  // At the same time: each waits seconds for a server that does not respond.
  const findings: Promise<Finding | Finding[]>[] = [checkDataFolder(config), checkApi(options)];
  const { profile = process.env.POSTBACK_PROFILE } = options;
  const isHere = !profile && !process.env.POSTBACK_URL && readDevelopmentFile(config.POSTBACK_DATA_DIR) !== null;
  const isNamed = (name: string) => Boolean(process.env[name]);
  // Only the API of a server elsewhere can be reached, unless the settings name MongoDB and Temporal too.
  if (isHere || isNamed('MONGODB_URI')) findings.push(checkMongo(config));
  if (isHere || isNamed('TEMPORAL_ADDRESS')) findings.push(checkTemporal(config));
  return (await Promise.all(findings)).flat();
}

async function checkDataFolder(config: Config): Promise<Finding> {
  const folder = resolve(config.POSTBACK_DATA_DIR);
  let existing = folder;
  while (!existsSync(existing)) existing = dirname(existing);
  try {
    accessSync(existing, constants.W_OK);
  } catch {
    return problem('Data folder', `${existing} cannot be written`, 'Change its owner, or set POSTBACK_DATA_DIR.');
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  if (free >= FREE_BYTES) return ok('Data folder', `${folder}, ${byteSize(free)} free`);
  return problem('Data folder', `${folder}, only ${byteSize(free)} free`, 'Free some disk: MongoDB stops without it.');
}

async function checkApi(options: ServerOptions): Promise<Finding[]> {
  let server: ReturnType<typeof findServer>;
  try {
    server = findServer(options);
  } catch (error) {
    return [warning('API', 'no server is known', (error as Error).message)];
  }
  try {
    const { data, error, response } = await server.client().GET('/readyz');
    const readiness = data ?? (error as unknown as Schemas['ReadinessCheckResponse'] | undefined);
    const findings = [
      response.ok
        ? ok('API', server.url)
        : problem(
            'API',
            `${server.url} is not ready: ${JSON.stringify(readiness)}`,
            'See the lines below, and its log.',
          ),
      checkClock(response.headers.get('date')),
    ];
    if (readiness?.embeddings) findings.push(checkEmbeddings(readiness.embeddings));
    if (readiness?.outbound && !readiness.outbound.loopback) {
      const how = 'For receivers here, start with OUTBOUND_ALLOW_CIDRS=127.0.0.0/8. In production, leave it.';
      findings.push(warning('Receivers', 'webhooks to this machine are not allowed', how));
    }
    if (readiness?.untrusted_forwarding) {
      const how = 'If a proxy is in front, set POSTBACK_TRUSTED_PROXIES to its addresses: all clients share one limit.';
      findings.push(warning('Proxy', 'X-Forwarded-For arrives from a peer that is not trusted', how));
    }
    findings.push(await checkKey(server));
    return findings;
  } catch (error) {
    return [problem('API', (error as Error).message, 'Start it, or correct the address.')];
  }
}

function checkClock(date: string | null): Finding {
  const difference = date === null ? 0 : Math.abs(Date.now() - Date.parse(date));
  if (difference < CLOCK_TOLERANCE_MS) return ok('Clock', 'as the server’s');
  return problem(
    'Clock',
    `${Math.round(difference / 1_000)} s from the server’s`,
    'Set both by NTP: signatures have a time.',
  );
}

type Embeddings =
  | { available: true; model: string; other_models?: { advice: string }[] }
  | { available: false; reason: string };

function checkEmbeddings(embeddings: Embeddings): Finding {
  if (!embeddings.available) {
    return warning('Embeddings', `none: ${embeddings.reason}`, 'Search is full text only: `postback model fetch`.');
  }
  const [other] = embeddings.other_models ?? [];
  if (other) return problem('Embeddings', `${embeddings.model}, but databases have another model`, other.advice);
  return ok('Embeddings', embeddings.model);
}

async function checkKey(server: ReturnType<typeof findServer>): Promise<Finding> {
  const { response } = await server.client().GET('/usage');
  if (response.ok) return ok('Key', 'accepted');
  return problem('Key', `the response is ${response.status}`, 'Create a key: `postback keys create --org <name>`.');
}

async function checkMongo({ MONGODB_URI }: Config): Promise<Finding> {
  const client = new MongoClient(MONGODB_URI, { serverSelectionTimeoutMS: CONNECT_MS });
  try {
    const { setName } = await client.db().command({ hello: 1 });
    const { version } = await client.db().admin().serverInfo();
    if (setName) return ok('MongoDB', `${version}, replica set ${setName}`);
    return problem('MongoDB', `${version}, not a replica set`, 'Transactions need one: start mongod with --replSet.');
  } catch (error) {
    return problem('MongoDB', (error as Error).message, 'Start it, or set MONGODB_URI.');
  } finally {
    await client.close();
  }
}

async function checkTemporal(config: Config): Promise<Finding> {
  const { TEMPORAL_NAMESPACE: namespace } = config;
  try {
    return await withTemporal(config, async ({ connection, workflowService }) => {
      const { serverVersion } = await workflowService.getSystemInfo({});
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      const missing = Object.keys(SEARCH_ATTRIBUTE_TYPES).filter((name) => !(name in customAttributes));
      if (missing.length === 0) return ok('Temporal', `${serverVersion}, namespace ${namespace}`);
      const how = 'Start a worker, which registers them, or see docs/operators.md.';
      return problem('Temporal', `search attributes are missing: ${missing.join(', ')}`, how);
    });
  } catch (error) {
    return problem('Temporal', (error as Error).message, 'Start it, or set TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE.');
  }
}
