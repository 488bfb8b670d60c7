import { createServer } from 'node:net';
import type { TelemetryOptions } from '@temporalio/worker';
import { fetch } from 'undici';

/** How long Temporal's SDK may take to list its metrics. */
const READ_MS = 2_000;
/** Seconds; the SDK's own lists have up to 22 steps for each of its many histograms. */
const LATENCIES = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600];
const HISTOGRAMS = [
  ...['request_latency', 'long_request_latency', 'workflow_endtoend_latency', 'workflow_task_execution_latency'],
  ...['workflow_task_schedule_to_start_latency', 'workflow_task_replay_latency', 'activity_execution_latency'],
  ...['activity_schedule_to_start_latency', 'activity_succeed_endtoend_latency'],
  ...['local_activity_execution_latency', 'local_activity_succeed_endtoend_latency'],
];

/** Ports that are tried: another process may take one between its choice and its use. */
const ATTEMPTS = 10;

type MetricsOptions = NonNullable<TelemetryOptions['metrics']>;

/**
 * The metrics of Temporal's SDK. Its core counts them and serves them on a port of its own: a free port of the loopback
 * interface, from which the worker copies them, so that a scraper needs one address for each process.
 * @param install starts the SDK with these options; it throws when the port is taken
 * @returns `read` returns the metrics as Prometheus reads them; nothing while they cannot be read
 */
export async function startSdkMetrics(
  install: (options: MetricsOptions) => void,
  choosePort: () => Promise<number> = freePort,
) {
  const address = await installWithPort(install, choosePort);
  return {
    async read(): Promise<string> {
      try {
        const response = await fetch(`http://${address}/metrics`, { signal: AbortSignal.timeout(READ_MS) });
        return response.ok ? await response.text() : '';
      } catch {
        return '';
      }
    },
  };
}

/** @returns the address that the SDK listens on */
async function installWithPort(install: (options: MetricsOptions) => void, choosePort: () => Promise<number>) {
  for (let attempt = 1; ; attempt += 1) {
    const address = `127.0.0.1:${await choosePort()}`;
    try {
      install(optionsFor(address));
      return address;
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

function optionsFor(bindAddress: string): MetricsOptions {
  return {
    attachServiceName: false,
    prometheus: {
      bindAddress,
      countersTotalSuffix: true,
      unitSuffix: true,
      useSecondsForDurations: true,
      histogramBucketOverrides: Object.fromEntries(HISTOGRAMS.map((name) => [name, LATENCIES])),
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
