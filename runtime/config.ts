import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { cardNetworksSchema } from '../domain/payments/card-networks.js';
import { type Limits, parseLimit, QUOTAS, type Quota } from '../domain/quotas.js';
import { parseS3Uri } from '../domain/s3-location.js';
import {
  CALLBACK_DELIVERY_POLICY,
  type DeliveryPolicy,
  INDEXING_DELIVERY_POLICY,
} from '../domain/webhooks/delivery-policy.js';
import { TASK_QUEUES } from '../domain/workflow-contract.js';
import { defaultCacheDir } from './cache-dir.js';

/** A retry schedule. */
const schedule = ({ scheduleMs }: DeliveryPolicy) =>
  z
    .string()
    .default(scheduleMs.join(','))
    .transform((list) => list.split(',').map(Number))
    .pipe(z.array(z.number().nonnegative()));

const positive = z.coerce.number().int().positive();
/** A date beyond the year 275,760 is invalid, and MongoDB stores it as 1970: it would remove such records at once. */
const retentionDays = positive.max(36_500).default(30);
/** The limit of a quota: a whole number, or `unlimited`. */
const quota = z
  .string()
  .default('unlimited')
  .transform((text, context) => {
    const limit = parseLimit(text);
    if (limit === undefined) context.addIssue('must be a whole number or "unlimited"');
    return limit ?? null;
  });
/** Removed from the environment once it was read. */
const SECRET = { secret: true };
const MiB = 1024 * 1024;
/** Seconds. */
const DAY = 24 * 60 * 60;

/**
 * Every setting, by the name of its environment variable. What each means is in docs/settings.md, which a test compares with
 * these names and defaults. No other code reads the environment.
 */
export const settingsSchema = z.object({
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_API_KEY: z.string().optional().meta(SECRET),
  TEMPORAL_TLS: z.enum(['true', 'false']).optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().optional(),
  POSTBACK_TEMPORAL_CODEC_KEYS: z.string().optional().meta(SECRET),
  MONGODB_URI: z.string().default('mongodb://127.0.0.1:27017/postback?replicaSet=rs0').meta(SECRET),
  POSTBACK_MONGODB_POOL_SIZE: positive.max(1_000).default(40),
  POSTBACK_MONGODB_STALE_READ_PREFERENCE: z.enum(['primary', 'secondaryPreferred', 'nearest']).default('primary'),
  POSTBACK_DATA_DIR: z.string().default('.postback'),
  POSTBACK_INDEX_URI: z.string().optional(),
  POSTBACK_SEARCH_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(SECRET),
  POSTBACK_SEARCH_PREFIX: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _')
    .default('postback'),
  POSTBACK_FILES_URI: z
    .string()
    .refine((uri) => parseS3Uri(uri) !== null, 'is not s3://bucket or s3://bucket/prefix')
    .optional(),
  AWS_ENDPOINT_URL: z.url().optional(),
  AWS_REGION: z.string().optional(),
  POSTBACK_SEALING_KEY: z.string().optional().meta(SECRET),
  POSTBACK_API_HOST: z.string().default('127.0.0.1'),
  POSTBACK_API_PORT: z.coerce.number().int().min(0).max(65535).default(8080),
  POSTBACK_INTERNAL_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  POSTBACK_INTERNAL_HOST: z.string().default('127.0.0.1'),
  POSTBACK_WORKER_HEALTH_PORT: z.coerce.number().int().min(0).max(65535).optional(),
  POSTBACK_QUEUES: z
    .string()
    .default(TASK_QUEUES.join(','))
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(TASK_QUEUES)).min(1)),
  POSTBACK_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  POSTBACK_TEMPORAL_UI_URL: z.url({ protocol: /^https?$/ }).optional(),
  OUTBOUND_ALLOW_CIDRS: z.string().default(''),
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  POSTBACK_OPERATOR_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{32,1024}$/, 'must have 32 to 1024 printable ASCII characters without spaces')
    .optional()
    .meta(SECRET),
  POSTBACK_OPERATOR_WEBHOOK_URL: z.url({ protocol: /^https?$/ }).optional(),
  POSTBACK_OPERATOR_WEBHOOK_SECRET: z.string().min(16).optional().meta(SECRET),
  POSTBACK_OPERATOR_NOTICE_SECONDS: positive.max(DAY).default(10 * 60),
  POSTBACK_CALLBACK_PROXY: z
    .url({ protocol: /^https?$/ })
    .optional()
    .meta(SECRET),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),

  POSTBACK_EMBEDDINGS: z.enum(['on', 'off']).default('on'),
  POSTBACK_EMBEDDINGS_OFF_REASON: z.string().optional(),
  POSTBACK_EMBEDDING_MODEL_DIR: z.string().optional(),
  POSTBACK_EMBEDDER_SOCKET: z.string().optional(),
  POSTBACK_EMBEDDER_URL: z.url({ protocol: /^http$/ }).optional(),
  POSTBACK_EMBEDDER_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  POSTBACK_EMBEDDER_HOST: z.string().default('127.0.0.1'),
  POSTBACK_EMBEDDINGS_URL: z.url().optional(),
  POSTBACK_EMBEDDINGS_KEY: z.string().optional().meta(SECRET),
  POSTBACK_EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  POSTBACK_EMBEDDINGS_DIMENSIONS: positive.default(1536),
  POSTBACK_PREVIOUS_EMBEDDINGS_URL: z.union([z.literal('local'), z.url()]).optional(),
  POSTBACK_PREVIOUS_EMBEDDINGS_KEY: z.string().optional().meta(SECRET),
  POSTBACK_PREVIOUS_EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  POSTBACK_PREVIOUS_EMBEDDINGS_DIMENSIONS: positive.default(1536),
  POSTBACK_EMBEDDING_THREADS: positive.default(2),

  POSTBACK_RERANK_URL: z.url().optional(),
  POSTBACK_RERANK_KEY: z.string().optional().meta(SECRET),
  POSTBACK_RERANK_MODEL: z.string().optional(),
  POSTBACK_RERANK_TIMEOUT_MS: positive.max(10_000).default(1_000),

  POSTBACK_PARSER_PROCESSES: positive.default(2),
  POSTBACK_OCR_PROCESSES: positive.default(2),
  POSTBACK_OCR_LANGUAGES_DIR: z.string().default(join(defaultCacheDir(process.env), 'languages')),
  POSTBACK_PARSER_MEMORY_MB: positive.default(256),
  POSTBACK_PARSER_TIMEOUT_SECONDS: positive.default(120),
  POSTBACK_PARSER_IDLE_SECONDS: z.coerce.number().nonnegative().max(DAY).default(3),

  POSTBACK_MAX_FILES: positive.default(100),
  POSTBACK_MAX_ITEMS: positive.default(5_000),
  POSTBACK_MAX_FILE_BYTES: positive.default(100 * MiB),
  POSTBACK_MAX_REQUEST_BYTES: positive.default(512 * MiB),
  POSTBACK_MAX_FIELD_BYTES: positive.default(32 * MiB),
  POSTBACK_BODY_MEMORY_BYTES: positive.default(128 * MiB),

  POSTBACK_TRUSTED_PROXIES: z.string().default(''),
  POSTBACK_RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).default(6_000),
  POSTBACK_RATE_LIMIT_BURST: z.coerce.number().int().min(0).default(500),
  POSTBACK_FAILED_LOGINS_PER_MINUTE: z.coerce.number().int().min(0).default(300),
  POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(600),
  POSTBACK_REVIEW_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(60),
  POSTBACK_CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(0).default(1_000),
  POSTBACK_SLOW_REQUEST_SECONDS: positive.max(600).default(10),
  POSTBACK_UPLOAD_BYTES_PER_SECOND: z.coerce.number().int().min(0).default(1_000),
  POSTBACK_EVENT_STREAMS: positive.default(50),
  POSTBACK_EVENT_RESUME_SECONDS: positive.default(60 * 60),
  POSTBACK_IDEMPOTENCY_HOURS: positive.max(24 * 30).default(24),

  /** What each organisation may use, unless `postback orgs limits` sets a limit of its own. */
  POSTBACK_QUOTA_STORED_BYTES: quota,
  POSTBACK_QUOTA_ITEMS: quota,
  POSTBACK_QUOTA_DATABASES: quota,
  POSTBACK_QUOTA_CONNECTORS: quota,
  POSTBACK_QUOTA_QUEUED_JOBS: quota,
  POSTBACK_QUOTA_RUNNING_CREWS: quota,
  POSTBACK_QUOTA_UPLOADS: quota,
  POSTBACK_QUOTA_MODEL_TOKENS: quota,

  POSTBACK_DELIVERY_SCHEDULE_MS: schedule(INDEXING_DELIVERY_POLICY),
  POSTBACK_CALLBACK_SCHEDULE_MS: schedule(CALLBACK_DELIVERY_POLICY),
  POSTBACK_DELIVERY_WORKFLOWS_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(15),
  POSTBACK_DELIVERY_TIMEOUT_MS: positive.max(25_000).default(INDEXING_DELIVERY_POLICY.timeoutMs),

  POSTBACK_WORKER_VERSIONING: z.enum(['on', 'off']).default('off'),
  POSTBACK_SHUTDOWN_SECONDS: z.coerce.number().nonnegative().default(10),
  POSTBACK_DELIVERY_RETENTION_DAYS: retentionDays,
  POSTBACK_WEBHOOK_DISABLE_AFTER_DAYS: z.coerce.number().nonnegative().default(0),

  POSTBACK_CARD_NETWORKS: cardNetworksSchema,
  POSTBACK_AUTHENTICATION_SECONDS: positive.default(30 * 60),
  POSTBACK_AUTHENTICATION_KEPT_SECONDS: positive.default(30 * DAY),
  POSTBACK_DEVICE_DATA_KEPT_SECONDS: positive.default(DAY),
  POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE: positive.default(30),

  POSTBACK_OPENAI_URL: z.url().optional(),
  POSTBACK_OPENAI_KEY: z.string().optional().meta(SECRET),
  POSTBACK_OPENAI_CHAT_MODEL: z.string().optional(),
  POSTBACK_OPENAI_VISION_MODEL: z.string().optional(),
  POSTBACK_OPENAI_SPEECH_MODEL: z.string().optional(),
  POSTBACK_GRAPH_MODEL: z.string().optional(),
  POSTBACK_OPENAI_MODELS: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  POSTBACK_OPENAI_MAX_TOKENS: z.coerce.number().int().min(0).default(8_192),
  POSTBACK_JOB_TIME_LIMIT_SECONDS: positive.default(60 * 60),
  POSTBACK_FETCH_TIMEOUT_SECONDS: positive.default(5 * 60),
  POSTBACK_JOB_RETENTION_DAYS: retentionDays,
  POSTBACK_UPLOAD_RETENTION_HOURS: positive.default(24),

  POSTBACK_CREWS_DIR: z.string().default(fileURLToPath(new URL('../../crews', import.meta.url))),
  POSTBACK_CREW_TOOL_SECRETS: z
    .string()
    .default('{}')
    .transform((text, ctx) => {
      try {
        return z.record(z.string(), z.string()).parse(JSON.parse(text));
      } catch {
        // The value is not quoted: it holds secrets.
        ctx.addIssue({ code: 'custom', message: 'must be a JSON object of texts' });
        return z.NEVER;
      }
    })
    .meta(SECRET),
  POSTBACK_EXECUTION_RETENTION_DAYS: retentionDays,
  POSTBACK_CONNECTOR_MAX_RESOURCES: positive.default(10_000),
  POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES: positive.default(50 * MiB),
  POSTBACK_CONNECTOR_TIMEOUT_SECONDS: positive.default(60),

  POSTBACK_RECONCILE_SECONDS: positive.default(30),
  POSTBACK_RECONCILE_QUIET_SECONDS: positive.default(60),
});

export type Config = z.output<typeof settingsSchema>;

/** The limits of an organisation without limits of its own. */
export function defaultLimits(config: Config): Limits {
  const limits = QUOTAS.map((name) => [name, config[`POSTBACK_QUOTA_${name.toUpperCase() as Uppercase<Quota>}`]]);
  return Object.fromEntries(limits) as Limits;
}

/** Not among them: the keys of AWS and the headers of OpenTelemetry, which their libraries read whenever they need them. */
const SECRETS = Object.entries(settingsSchema.shape).flatMap(([name, setting]) =>
  setting.meta()?.secret ? [name] : [],
);

/**
 * Reads the settings as `readConfig`, and removes the secrets from the environment: from then on, neither a package nor a child
 * process finds them there.
 */
export function takeConfig(env: NodeJS.ProcessEnv): Config {
  const config = readConfig(env);
  for (const name of SECRETS) delete env[name];
  return config;
}

/** Reads the settings; empty variables count as not set. @throws Error that names each invalid variable */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = settingsSchema.safeParse(present);
  if (!result.success) {
    throw new Error(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
  }
  return { ...result.data, POSTBACK_DATA_DIR: resolve(result.data.POSTBACK_DATA_DIR) };
}
