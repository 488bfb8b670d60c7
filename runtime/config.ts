import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { parseS3Uri } from '../domain/s3-location.js';
import { TASK_QUEUES } from '../domain/task-queues.js';
import { INDEXING_DELIVERY_POLICY } from '../domain/webhooks/delivery-policy.js';

const positive = z.coerce.number().int().positive();
const MiB = 1024 * 1024;
/** Seconds. */
const DAY = 24 * 60 * 60;

/** Every setting, by the name of its environment variable; docs/settings.md tells of each. Nothing else reads the environment. */
export const settingsSchema = z.object({
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  /** Sent with every call; goes by TLS. */
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: z.enum(['true', 'false']).optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().optional(),
  MONGODB_URI: z.string().default('mongodb://127.0.0.1:27017/postback?replicaSet=rs0'),
  /** Holds the search index unless that lies elsewhere, and on the embedded stack everything else. */
  POSTBACK_DATA_DIR: z.string().default('.postback'),
  /** A folder, or `s3://bucket/prefix`; the folder `index` under the data folder when not set. */
  POSTBACK_INDEX_URI: z.string().optional(),
  /** `s3://bucket/prefix`; GridFS when not set. */
  POSTBACK_FILES_URI: z
    .string()
    .refine((uri) => parseS3Uri(uri) !== null, 'is not s3://bucket or s3://bucket/prefix')
    .optional(),
  /** Of an S3-compatible server other than AWS's. */
  AWS_ENDPOINT_URL: z.url().optional(),
  AWS_REGION: z.string().optional(),
  /** 32 bytes, base64: seals secrets at rest. */
  POSTBACK_SEALING_KEY: z.string().optional(),
  POSTBACK_API_HOST: z.string().default('127.0.0.1'),
  POSTBACK_API_PORT: z.coerce.number().int().min(0).max(65535).default(8080),
  POSTBACK_WORKER_HEALTH_PORT: z.coerce.number().int().min(0).max(65535).optional(),
  POSTBACK_QUEUES: z
    .string()
    .default(TASK_QUEUES.join(','))
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(TASK_QUEUES)).min(1)),
  /** Ranges that webhooks may go to although they are not public, and by plain http. For development. */
  OUTBOUND_ALLOW_CIDRS: z.string().default(''),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),

  /** `off` goes without; a URL of an OpenAI-compatible endpoint is used instead of the embedded model. */
  POSTBACK_EMBEDDINGS: z.enum(['on', 'off']).default('on'),
  /** Why there is none, when whoever started this process found out: shown in `/readyz`. */
  POSTBACK_EMBEDDINGS_OFF_REASON: z.string().optional(),
  POSTBACK_EMBEDDING_MODEL_DIR: z.string().optional(),
  POSTBACK_EMBEDDINGS_URL: z.url().optional(),
  POSTBACK_EMBEDDINGS_KEY: z.string().optional(),
  POSTBACK_EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  POSTBACK_EMBEDDINGS_DIMENSIONS: positive.default(384),
  POSTBACK_EMBEDDING_THREADS: positive.default(2),

  POSTBACK_MAX_FILES: positive.default(100),
  POSTBACK_MAX_ITEMS: positive.default(5_000),
  POSTBACK_MAX_FILE_BYTES: positive.default(100 * MiB),
  POSTBACK_MAX_REQUEST_BYTES: positive.default(512 * MiB),
  POSTBACK_MAX_FIELD_BYTES: positive.default(32 * MiB),

  /** Requests that one key may send to one API process; 0 is no limit. */
  POSTBACK_RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).default(6_000),
  /** The same within one second. */
  POSTBACK_RATE_LIMIT_BURST: z.coerce.number().int().min(0).default(500),
  /** How long the answer to a request with an `Idempotency-Key` is kept for repeats of it. */
  POSTBACK_IDEMPOTENCY_HOURS: positive.max(24 * 30).default(24),

  /** Milliseconds after the 1st, 2nd, … failed attempt; comma-separated. */
  POSTBACK_DELIVERY_SCHEDULE_MS: z
    .string()
    .default(INDEXING_DELIVERY_POLICY.scheduleMs.join(','))
    .transform((list) => list.split(',').map(Number))
    .pipe(z.array(z.number().nonnegative())),
  POSTBACK_DELIVERY_TIMEOUT_MS: positive.max(25_000).default(INDEXING_DELIVERY_POLICY.timeoutMs),

  /** How long a delivery record outlives its last attempt. */
  POSTBACK_DELIVERY_RETENTION_DAYS: positive.default(30),
  /** A webhook is disabled after so many days of nothing but failures, until it is registered again; 0: never. */
  POSTBACK_WEBHOOK_DISABLE_AFTER_DAYS: z.coerce.number().nonnegative().default(0),

  /** How long a payment authentication can be used, and how long its record stays after that. */
  POSTBACK_AUTHENTICATION_SECONDS: positive.default(30 * 60),
  POSTBACK_AUTHENTICATION_KEPT_SECONDS: positive.default(30 * DAY),
  /** How long the customer's device data stay after an eligibility check, sealed. */
  POSTBACK_DEVICE_DATA_KEPT_SECONDS: positive.default(DAY),
  /** Requests a minute about one authentication, counted apart for publishable and secret keys. */
  POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE: positive.default(30),

  /** A server that speaks OpenAI's protocol, for the AI jobs of the provider `openai` and the agents of crews; its address ends in /v1. */
  POSTBACK_OPENAI_URL: z.url().optional(),
  POSTBACK_OPENAI_KEY: z.string().optional(),
  /** Default models of what it is asked for; without one a subfeature is not offered. */
  POSTBACK_OPENAI_CHAT_MODEL: z.string().optional(),
  POSTBACK_OPENAI_VISION_MODEL: z.string().optional(),
  POSTBACK_OPENAI_SPEECH_MODEL: z.string().optional(),
  /** Until an AI job is given up. */
  POSTBACK_JOB_TIME_LIMIT_SECONDS: positive.default(60 * 60),
  /** Of a file that an AI job fetches from an address. */
  POSTBACK_FETCH_TIMEOUT_SECONDS: positive.default(5 * 60),
  /** How long a job and its result outlive its end. */
  POSTBACK_JOB_RETENTION_DAYS: positive.default(30),
  /** How long an uploaded file may be named by jobs. */
  POSTBACK_UPLOAD_RETENTION_HOURS: positive.default(24),

  /** A folder with a folder for each crew. */
  POSTBACK_CREWS_DIR: z.string().default(fileURLToPath(new URL('../../crews', import.meta.url))),
  /** How long an execution of a crew outlives its end. */
  POSTBACK_EXECUTION_RETENTION_DAYS: positive.default(30),
  /** Resources (pages, entries, objects) that one sync of a connector takes in; what is listed beyond is left out. */
  POSTBACK_CONNECTOR_MAX_RESOURCES: positive.default(10_000),
  /** Of one resource. */
  POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES: positive.default(50 * MiB),
  /** Of one request that a connector sends. */
  POSTBACK_CONNECTOR_TIMEOUT_SECONDS: positive.default(60),

  /** Interval of the reconciler. */
  POSTBACK_RECONCILE_SECONDS: positive.default(30),
  /** Time without a change after which the reconciler checks a record. */
  POSTBACK_RECONCILE_QUIET_SECONDS: positive.default(60),
});

export type Config = z.output<typeof settingsSchema>;

/** @throws Error that names the variable, when one cannot be read */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const present = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
  const result = settingsSchema.safeParse(present);
  if (!result.success) {
    throw new Error(result.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; '));
  }
  return { ...result.data, POSTBACK_DATA_DIR: resolve(result.data.POSTBACK_DATA_DIR) };
}
