import { type Logger, pino } from 'pino';

/** JSON lines on standard output. What could carry a key or a secret is never logged in the first place; this is the net below. */
export function createLogger(level: string, name: string): Logger {
  return pino({
    level,
    name,
    redact: ['*.authorization', '*.signing_secret', '*.sealed_secret', '*.key', '*.hash'],
    timestamp: pino.stdTimeFunctions.isoTime,
    // A driver's error may carry the whole document it failed to write: only what says what happened is logged.
    serializers: { err: describeError },
  });
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, code } = error as Error & { code?: unknown };
  const frames = stack?.split('\n').filter((line) => line.startsWith('    at '));
  return { type: name, message: message.slice(0, 500), code, stack: frames?.slice(0, 12).join('\n') };
}
