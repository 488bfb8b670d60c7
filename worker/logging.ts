import { Runtime, type TelemetryOptions } from '@temporalio/worker';
import type { Logger } from 'pino';

/** Warnings that describe how this product uses the SDK: some queues have activities only. */
const EXPECTED: ReadonlySet<string> = new Set(['No workflows registered, not polling for workflow tasks']);

/**
 * Sends the log lines of Temporal's SDK to our logger. Call once, before the first worker or connection of the process.
 * @param metrics how the SDK serves its metrics; without it, it counts none
 */
export function installTemporalLogger(log: Logger, metrics?: TelemetryOptions['metrics']): void {
  const levels = { TRACE: 'trace', DEBUG: 'debug', INFO: 'debug', WARN: 'warn', ERROR: 'error' } as const;
  const at = (level: keyof typeof levels) => (message: string, meta?: object) =>
    log[EXPECTED.has(message) ? 'debug' : levels[level]](renameError(meta), message);
  Runtime.install({
    logger: {
      trace: at('TRACE'),
      debug: at('DEBUG'),
      info: at('INFO'),
      warn: at('WARN'),
      error: at('ERROR'),
      log: (level, message, meta) => at(level)(message, meta),
    },
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
