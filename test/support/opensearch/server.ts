import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Env } from '../../../dev-stack/downloads.js';
import { startOnPorts } from '../../../dev-stack/ports.js';
import { type SupervisedChild, startSupervisedChild, waitUntilReady } from '../../../dev-stack/supervised-child.js';
import { NODE_CLASS } from './node-source.js';

export interface OpenSearchOptions {
  readonly classPath: string;
  /** Holds the data and the log. */
  readonly dir: string;
  readonly claimsDir: string;
  readonly env: Env;
  /** Size of the Java heap in MB. Lucene's files need memory beside it. */
  readonly heapMb?: number;
  /** Compiles quickly instead of well, for a server that runs for a minute. */
  readonly isBrief?: boolean;
}

export interface OpenSearch extends SupervisedChild {
  readonly url: string;
}

/** On cores that other work keeps busy, a start takes a minute and more. A server that ends is not waited for. */
const READY_MS = 10 * 60_000;

/** Errors to the standard output, which is the log file. */
const LOGGING = `
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = [%d{ISO8601}][%-5p][%-25c{1.}] %m%n
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
`;

/** Starts one node on loopback, for tests and benchmarks, and waits until it responds. @throws Error with the end of its log */
export function startOpenSearch({
  classPath,
  dir,
  claimsDir,
  env,
  heapMb = 256,
  isBrief = false,
}: OpenSearchOptions): Promise<OpenSearch> {
  mkdirSync(join(dir, 'config'), { recursive: true });
  writeFileSync(join(dir, 'config', 'log4j2.properties'), LOGGING);
  return startOnPorts({ dir, claimsDir }, { opensearch: 9200 }, async ({ opensearch: port }) => {
    const server = await startSupervisedChild({
      command: 'java',
      args: [
        ...[`-Xms${heapMb}m`, `-Xmx${heapMb}m`, '-XX:+UseSerialGC'],
        ...(isBrief ? ['-XX:TieredStopAtLevel=1'] : []),
        ...['-cp', classPath, NODE_CLASS, dir, `${port}`],
      ],
      env,
      logFile: join(dir, 'opensearch.log'),
      pidFile: join(dir, 'opensearch.pid'),
    });
    const url = `http://127.0.0.1:${port}`;
    await waitUntilReady(server, 'OpenSearch', async () => (await fetch(url)).ok, READY_MS);
    return { ...server, url };
  });
}
