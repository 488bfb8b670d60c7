/**
 * The errors that clients see. `api/errors.ts` sends them in the shape of the service (`api/envelope.ts`).
 */

/** Error codes and their HTTP status (specification, "Errors"). */
export const ERROR_STATUS = {
  INVALID_PARAMETERS: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  DATABASE_NOT_FOUND: 404,
  SOURCE_NOT_FOUND: 404,
  FILE_NOT_FOUND: 404,
  WEBHOOK_NOT_FOUND: 404,
  DELIVERY_NOT_FOUND: 404,
  CONNECTOR_NOT_FOUND: 404,
  KEY_NOT_FOUND: 404,
  JOB_NOT_FOUND: 404,
  AUTHENTICATION_NOT_FOUND: 404,
  ELIGIBILITY_CHECK_NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  DATABASE_ALREADY_EXISTS: 409,
  SOURCE_ALREADY_EXISTS: 409,
  SOURCE_PROCESSING: 409,
  /** The code of deprecated routes for a duplicate. */
  INVALID_INPUT: 409,
  METADATA_FIELD_CONFLICT: 409,
  LAST_ADMIN_KEY: 409,
  ORGANISATION_ALREADY_EXISTS: 409,
  DELIVERY_NOT_RETRYABLE: 409,
  FILE_IN_USE: 409,
  JOB_FINISHED: 409,
  ELIGIBILITY_ALREADY_CHECKED: 409,
  IDEMPOTENCY_CONFLICT: 409,
  IDEMPOTENCY_IN_PROGRESS: 409,
  PAYLOAD_TOO_LARGE: 413,
  RANGE_NOT_SATISFIABLE: 416,
  VALIDATION_ERROR: 422,
  TENANT_INFRA_NOT_READY: 422,
  RATE_LIMITED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
} as const;
export type ErrorCode = keyof typeof ERROR_STATUS;

/** An error whose message may be shown to the client. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  /** Value of the `Retry-After` header. */
  readonly retryAfterSeconds: number | undefined;
  /** What the message says, for programs: the quota that is exceeded. */
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    { retryAfterSeconds, details }: { retryAfterSeconds?: number; details?: Readonly<Record<string, unknown>> } = {},
  ) {
    super(message);
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.details = details;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }
}

/** The embedding model was not reachable or rejected the request. */
export class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
  /** False when a retry cannot help (a wrong key, an unknown model). */
  readonly retryable: boolean;

  constructor(message: string, retryable: boolean) {
    super(message);
    this.retryable = retryable;
  }
}

/** The data of an OCR language are missing, and could not be fetched. They may be there at the next attempt. `message` is for clients. */
export class LanguageDataError extends Error {
  override readonly name = 'LanguageDataError';
  /** For operators: it can contain paths and addresses. */
  readonly reason: string;

  /** @param language the engine's name, such as `deu` */
  constructor(language: string, reason: string) {
    super(
      `OCR has no data of the language ${language} on this server, and could not fetch them. ` +
        `Operators: \`postback languages fetch ${language}\`.`,
    );
    this.reason = reason;
  }
}

/** A provider of AI jobs or a language model failed. `message` is for the client: no internals, document content, keys or addresses. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly retryable: boolean;
  /** The `Retry-After` of the provider. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryable: boolean, retryAfterMs?: number) {
    super(message);
    this.retryable = retryable;
    this.retryAfterMs = retryAfterMs;
  }
}
