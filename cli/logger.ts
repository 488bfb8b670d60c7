import { type Logger, pino } from 'pino';

/** JSON lines on standard output. What could carry a key or a secret is never logged in the first place; this is the net below. */
export function createLogger(level: string, name: string): Logger {
  return pino({
    level,
    name,
    redact: ['*.authorization', '*.signing_secret', '*.sealed_secret', '*.key', '*.hash'],
    timestamp: pino.stdTimeFunctions.isoTime,
  });
}
