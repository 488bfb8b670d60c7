import { DefaultLogger, Runtime, type TelemetryOptions } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Warnings that describe how this product uses the SDK: some queues have activities only. */
const EXPECTED: ReadonlySet<string> = new Set(['No workflows registered, not polling for workflow tasks']);

/** Our level for each of the SDK's. */
const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;

/**
 * Sends the log lines of Temporal's SDK to our logger. Call once, before the first worker or connection of the process.
 * @param metrics how the SDK serves its metrics; without it, it counts none
 */
export function installTemporalLogger(log: Logger, metrics?: TelemetryOptions['metrics']): void {
  Runtime.install({
    logger: new DefaultLogger('TRACE', ({ level, message, meta }) =>
      log[EXPECTED.has(message) ? 'debug' : LEVELS[level]](renameError(meta), message),
    ),
    // The SDK's core (in Rust) logs through the same logger.
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} },
      ...(metrics ? { metrics } : {}),
    },
    shutdownSignals: [],
  });
}

/** The SDK logs an error as `error`, our logger serializes `err`. */
function renameError(meta: object = {}): object {
  const { error, ...rest } = meta as { error?: unknown };
  return error === undefined ? rest : { ...rest, err: error };
}
