import { type Logger, pino } from 'pino';

/**
 * Logs JSON lines to standard output. Keys and secrets are never passed to the logger; the redaction is a second line
 * of defence.
 * @param fields of every line
 */
export function createLogger(level: string, name: string, fields?: () => object): Logger {
  return pino({
    level,
    name,
    redact: ['*.authorization', '*.signing_secret', '*.sealed_secret', '*.key', '*.hash'],
    timestamp: pino.stdTimeFunctions.isoTime,
    ...(fields ? { mixin: fields } : {}),
    // A driver's error may contain the document that it failed to write, so only selected fields are logged.
    serializers: { err: describeError },
  });
}

/** The fields of an error that are logged. */
export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error);
  const { name, message, stack, code } = error as Error & { code?: unknown };
  const frames = stack?.split('\n').filter((line) => line.startsWith('    at '));
  return {
    type: name,
    message: withoutCredentials(message.slice(0, 500)),
    code,
    stack: frames?.slice(0, 12).join('\n'),
  };
}

/** Hides the user and the password of URLs, such as connection strings. */
function withoutCredentials(text: string): string {
  return text.replace(/:\/\/[^\s/@]{1,300}@/g, '://***@');
}
