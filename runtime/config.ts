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
/** The limit of a quota: a whole number, or `unlimited`. */
const quota = z
  .string()
  .default('unlimited')
  .transform((text, context) => {
    const limit = parseLimit(text);
    if (limit === undefined) context.addIssue('must be a whole number or "unlimited"');
    return limit ?? null;
  });
const MiB = 1024 * 1024;
/** Seconds. */
const DAY = 24 * 60 * 60;

/**
 * Every setting, by the name of its environment variable. docs/settings.md describes them. No other code reads the
 * environment.
 */
export const settingsSchema = z.object({
  TEMPORAL_ADDRESS: z.string().default('127.0.0.1:7233'),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  /** Sent with every call; implies TLS. */
  TEMPORAL_API_KEY: z.string().optional(),
  TEMPORAL_TLS: z.enum(['true', 'false']).optional(),
  TEMPORAL_TLS_SERVER_NAME: z.string().optional(),
  TEMPORAL_TLS_SERVER_CA_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_CERT_PATH: z.string().optional(),
  TEMPORAL_TLS_CLIENT_KEY_PATH: z.string().optional(),
  /** Encrypts what Temporal stores. Comma-separated keys of 32 bytes, base64: the first encrypts, all decrypt. */
  POSTBACK_TEMPORAL_CODEC_KEYS: z.string().optional(),
  MONGODB_URI: z.string().default('mongodb://127.0.0.1:27017/postback?replicaSet=rs0'),
  /** Connections of each process to MongoDB. */
  POSTBACK_MONGODB_POOL_SIZE: positive.max(1_000).default(40),
  /** Where reads go that may be some seconds old. */
  POSTBACK_MONGODB_STALE_READ_PREFERENCE: z.enum(['primary', 'secondaryPreferred', 'nearest']).default('primary'),
  /** Holds the search index unless POSTBACK_INDEX_URI names another place. With `postback start` it holds all data. */
  POSTBACK_DATA_DIR: z.string().default('.postback'),
  /** A folder, or `s3://bucket/prefix`. Default: the folder `index` in the data folder. */
  POSTBACK_INDEX_URI: z.string().optional(),
  /** OpenSearch with its k-NN plugin, for the search indexes of new databases. User and password are part of the URL. */
  POSTBACK_SEARCH_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Begins the names of the indexes there. */
  POSTBACK_SEARCH_PREFIX: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_]{0,63}$/, 'must be lower-case letters, digits and _')
    .default('postback'),
  /** `s3://bucket/prefix`. Default: GridFS. */
  POSTBACK_FILES_URI: z
    .string()
    .refine((uri) => parseS3Uri(uri) !== null, 'is not s3://bucket or s3://bucket/prefix')
    .optional(),
  /** For an S3-compatible server other than AWS. */
  AWS_ENDPOINT_URL: z.url().optional(),
  AWS_REGION: z.string().optional(),
  /** 32 bytes, base64: encrypts secrets at rest. */
  POSTBACK_SEALING_KEY: z.string().optional(),
  POSTBACK_API_HOST: z.string().default('127.0.0.1'),
  POSTBACK_API_PORT: z.coerce.number().int().min(0).max(65535).default(8080),
  /** Where the API serves `/metrics` and the details of `/readyz`, instead of on its own port. */
  POSTBACK_INTERNAL_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  POSTBACK_INTERNAL_HOST: z.string().default('127.0.0.1'),
  POSTBACK_WORKER_HEALTH_PORT: z.coerce.number().int().min(0).max(65535).optional(),
  POSTBACK_QUEUES: z
    .string()
    .default(TASK_QUEUES.join(','))
    .transform((list) => list.split(',').map((name) => name.trim()))
    .pipe(z.array(z.enum(TASK_QUEUES)).min(1)),
  /** The API as people reach it, for the links in callbacks. */
  POSTBACK_PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** As a browser reaches it: the console links to workflows there. */
  POSTBACK_TEMPORAL_UI_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** Private address ranges that webhooks may be sent to, also over plain http. For development. */
  OUTBOUND_ALLOW_CIDRS: z.string().default(''),
  /** Switches traces on. OpenTelemetry reads the other `OTEL_…` variables itself. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  /** Opens `/operator` to operators who send it. */
  POSTBACK_OPERATOR_TOKEN: z
    .string()
    .regex(/^[\x21-\x7e]{32,1024}$/, 'must have 32 to 1024 printable ASCII characters without spaces')
    .optional(),
  /** Where the operator gets notices of callbacks that fail for good, with the secret that signs them. */
  POSTBACK_OPERATOR_WEBHOOK_URL: z.url({ protocol: /^https?$/ }).optional(),
  POSTBACK_OPERATOR_WEBHOOK_SECRET: z.string().min(16).optional(),
  /** All that happens to one receiver in this time is one notice. */
  POSTBACK_OPERATOR_NOTICE_SECONDS: positive.max(DAY).default(10 * 60),
  /** An egress proxy for all callbacks; user and password are part of the URL. */
  POSTBACK_CALLBACK_PROXY: z.url({ protocol: /^https?$/ }).optional(),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),

  /** `off`: no embedding model, full text search only. */
  POSTBACK_EMBEDDINGS: z.enum(['on', 'off']).default('on'),
  /** Shown in `/readyz` when embeddings are off. Set by `postback start` when it could not obtain the model. */
  POSTBACK_EMBEDDINGS_OFF_REASON: z.string().optional(),
  POSTBACK_EMBEDDING_MODEL_DIR: z.string().optional(),
  /** Unix socket of the embedding process. Without it, each process that embeds loads the model itself. */
  POSTBACK_EMBEDDER_SOCKET: z.string().optional(),
  /** The embedding process on another machine, or several behind one name. Used instead of the socket. */
  POSTBACK_EMBEDDER_URL: z.url({ protocol: /^http$/ }).optional(),
  /** Where the embedding process listens, instead of on the socket. It has no authentication. */
  POSTBACK_EMBEDDER_PORT: z.coerce.number().int().min(0).max(65_535).optional(),
  POSTBACK_EMBEDDER_HOST: z.string().default('127.0.0.1'),
  /** An OpenAI-compatible endpoint, used instead of the local model. */
  POSTBACK_EMBEDDINGS_URL: z.url().optional(),
  POSTBACK_EMBEDDINGS_KEY: z.string().optional(),
  POSTBACK_EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  POSTBACK_EMBEDDINGS_DIMENSIONS: positive.default(1536),
  /** The model before, for databases that still have its vectors. An endpoint, or `local`. */
  POSTBACK_PREVIOUS_EMBEDDINGS_URL: z.union([z.literal('local'), z.url()]).optional(),
  POSTBACK_PREVIOUS_EMBEDDINGS_KEY: z.string().optional(),
  POSTBACK_PREVIOUS_EMBEDDINGS_MODEL: z.string().default('text-embedding-3-small'),
  POSTBACK_PREVIOUS_EMBEDDINGS_DIMENSIONS: positive.default(1536),
  POSTBACK_EMBEDDING_THREADS: positive.default(2),

  /** A server with `POST /rerank`, which ranks the best hits of a query again. The URL ends in /v1 or /v2. */
  POSTBACK_RERANK_URL: z.url().optional(),
  POSTBACK_RERANK_KEY: z.string().optional(),
  /** Required with the URL. */
  POSTBACK_RERANK_MODEL: z.string().optional(),
  /** After it, the first ranking stands. */
  POSTBACK_RERANK_TIMEOUT_MS: positive.max(10_000).default(1_000),

  /** Child processes of a worker that parse files, and that read scanned pages. */
  POSTBACK_PARSER_PROCESSES: positive.default(2),
  POSTBACK_OCR_PROCESSES: positive.default(2),
  /** Holds the data of OCR languages other than English; what is missing is fetched into it. */
  POSTBACK_OCR_LANGUAGES_DIR: z.string().default(join(defaultCacheDir(process.env), 'languages')),
  /** JavaScript heap of a parser in MiB. With its libraries it may take 256 MiB more. */
  POSTBACK_PARSER_MEMORY_MB: positive.default(256),
  /** For one file without its scanned pages, and for each scanned page. */
  POSTBACK_PARSER_TIMEOUT_SECONDS: positive.default(120),
  /** How long an idle child process waits for the next file, page or text. */
  POSTBACK_PARSER_IDLE_SECONDS: z.coerce.number().nonnegative().max(DAY).default(3),

  POSTBACK_MAX_FILES: positive.default(100),
  POSTBACK_MAX_ITEMS: positive.default(5_000),
  POSTBACK_MAX_FILE_BYTES: positive.default(100 * MiB),
  POSTBACK_MAX_REQUEST_BYTES: positive.default(512 * MiB),
  POSTBACK_MAX_FIELD_BYTES: positive.default(32 * MiB),
  /** Of JSON bodies and text fields that are in progress together. One organisation may use half of it. */
  POSTBACK_BODY_MEMORY_BYTES: positive.default(128 * MiB),

  /** Proxies whose `X-Forwarded-For` is believed: address ranges, separated by commas. */
  POSTBACK_TRUSTED_PROXIES: z.string().default(''),
  /** Requests that one key may send; 0: no limit. */
  POSTBACK_RATE_LIMIT_PER_MINUTE: z.coerce.number().int().min(0).default(6_000),
  /** The same per second. */
  POSTBACK_RATE_LIMIT_BURST: z.coerce.number().int().min(0).default(500),
  /** Requests with an invalid key that one address may send in a minute; 0: no limit. */
  POSTBACK_FAILED_LOGINS_PER_MINUTE: z.coerce.number().int().min(0).default(300),
  /** Requests with one publishable key that one address may send in a minute; 0: no limit. */
  POSTBACK_PUBLISHABLE_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(600),
  /** Requests of review pages that one address may send in a minute; 0: no limit. */
  POSTBACK_REVIEW_REQUESTS_PER_MINUTE: z.coerce.number().int().min(0).default(60),
  /** Open connections of one address; 0: no limit. */
  POSTBACK_CONNECTIONS_PER_ADDRESS: z.coerce.number().int().min(0).default(1_000),
  /** How long the headers of a request may take to arrive, and the rest of a request without a valid key. */
  POSTBACK_SLOW_REQUEST_SECONDS: positive.max(600).default(10),
  /** Bytes per second at which an upload must arrive; 0: any. */
  POSTBACK_UPLOAD_BYTES_PER_SECOND: z.coerce.number().int().min(0).default(1_000),
  /** Open event streams that one organisation may have at one API process. */
  POSTBACK_EVENT_STREAMS: positive.default(50),
  /** How long after an event a client can still continue there. */
  POSTBACK_EVENT_RESUME_SECONDS: positive.default(60 * 60),
  /** How long the response to a request with an `Idempotency-Key` is stored for its repeats. */
  POSTBACK_IDEMPOTENCY_HOURS: positive.max(24 * 30).default(24),

  /** What each organisation may use, unless `postback orgs limits` sets a limit of its own. */
  POSTBACK_QUOTA_STORED_BYTES: quota,
  POSTBACK_QUOTA_ITEMS: quota,
  POSTBACK_QUOTA_DATABASES: quota,
  POSTBACK_QUOTA_CONNECTORS: quota,
  POSTBACK_QUOTA_QUEUED_JOBS: quota,
  POSTBACK_QUOTA_RUNNING_CREWS: quota,
  POSTBACK_QUOTA_UPLOADS: quota,
  /** Per day (UTC). */
  POSTBACK_QUOTA_MODEL_TOKENS: quota,

  /** Milliseconds after the 1st, 2nd, … failed attempt; comma-separated. */
  POSTBACK_DELIVERY_SCHEDULE_MS: schedule(INDEXING_DELIVERY_POLICY),
  /** The same for callbacks of AI jobs. */
  POSTBACK_CALLBACK_SCHEDULE_MS: schedule(CALLBACK_DELIVERY_POLICY),
  /** New deliveries of a process in a second that have a workflow from the start. */
  POSTBACK_DELIVERY_WORKFLOWS_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(15),
  POSTBACK_DELIVERY_TIMEOUT_MS: positive.max(25_000).default(INDEXING_DELIVERY_POLICY.timeoutMs),

  /** `on`: workers get tasks only after `postback worker promote` has made their version the current version. */
  POSTBACK_WORKER_VERSIONING: z.enum(['on', 'off']).default('off'),
  /** How long the work in progress may continue when a worker is stopped. Then it is cancelled, and repeated elsewhere. */
  POSTBACK_SHUTDOWN_SECONDS: z.coerce.number().nonnegative().default(10),
  /** How long a delivery record is kept after its last attempt. */
  POSTBACK_DELIVERY_RETENTION_DAYS: positive.default(30),
  /** A webhook whose deliveries have all failed for this long is disabled until it is registered again; 0: never. */
  POSTBACK_WEBHOOK_DISABLE_AFTER_DAYS: z.coerce.number().nonnegative().default(0),

  /** The names of the two card networks in eligibility checks, beside `network_a` and `network_b`. */
  POSTBACK_CARD_NETWORKS: cardNetworksSchema,
  /** How long a payment authentication can be used, and how long its record is kept after that. */
  POSTBACK_AUTHENTICATION_SECONDS: positive.default(30 * 60),
  POSTBACK_AUTHENTICATION_KEPT_SECONDS: positive.default(30 * DAY),
  /** How long the customer's device data are kept, encrypted, after an eligibility check. */
  POSTBACK_DEVICE_DATA_KEPT_SECONDS: positive.default(DAY),
  /**
   * Requests per minute about one authentication, counted separately for secret keys, right client secrets and wrong
   * ones.
   */
  POSTBACK_AUTHENTICATION_REQUESTS_PER_MINUTE: positive.default(30),

  /**
   * An OpenAI-compatible server for AI jobs of the provider `openai` and for the agents of crews. The URL ends in /v1.
   */
  POSTBACK_OPENAI_URL: z.url().optional(),
  POSTBACK_OPENAI_KEY: z.string().optional(),
  /** Default models by kind of work. A subfeature without a model is not offered. */
  POSTBACK_OPENAI_CHAT_MODEL: z.string().optional(),
  POSTBACK_OPENAI_VISION_MODEL: z.string().optional(),
  POSTBACK_OPENAI_SPEECH_MODEL: z.string().optional(),
  /** Reads the graph of items instead of the built-in extraction. Needs the URL. */
  POSTBACK_GRAPH_MODEL: z.string().optional(),
  /** Other models that AI jobs may name; comma-separated. */
  POSTBACK_OPENAI_MODELS: z
    .string()
    .default('')
    .transform((list) =>
      list
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== ''),
    ),
  /** Tokens that one request of an AI job may generate; 0: no limit. */
  POSTBACK_OPENAI_MAX_TOKENS: z.coerce.number().int().min(0).default(8_192),
  /** An AI job that takes longer fails. */
  POSTBACK_JOB_TIME_LIMIT_SECONDS: positive.default(60 * 60),
  /** For fetching a file that an AI job names by URL. */
  POSTBACK_FETCH_TIMEOUT_SECONDS: positive.default(5 * 60),
  /** How long a finished job and its result are kept. */
  POSTBACK_JOB_RETENTION_DAYS: positive.default(30),
  /** How long jobs can use an uploaded file. */
  POSTBACK_UPLOAD_RETENTION_HOURS: positive.default(24),

  /** A folder with one folder per crew. */
  POSTBACK_CREWS_DIR: z.string().default(fileURLToPath(new URL('../../crews', import.meta.url))),
  /** Secrets for the headers of crews' tools, by the names that `crew.yaml` uses; a JSON object. */
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
    }),
  /** How long a finished execution of a crew is kept. */
  POSTBACK_EXECUTION_RETENTION_DAYS: positive.default(30),
  /** Resources (pages, entries, objects) that one sync of a connector reads; further resources are skipped. */
  POSTBACK_CONNECTOR_MAX_RESOURCES: positive.default(10_000),
  /** Size limit of one resource. */
  POSTBACK_CONNECTOR_MAX_RESOURCE_BYTES: positive.default(50 * MiB),
  /** For one request of a connector. */
  POSTBACK_CONNECTOR_TIMEOUT_SECONDS: positive.default(60),

  /** Interval of the reconciler. */
  POSTBACK_RECONCILE_SECONDS: positive.default(30),
  /** Time without a change after which the reconciler checks a record. */
  POSTBACK_RECONCILE_QUIET_SECONDS: positive.default(60),
});

export type Config = z.output<typeof settingsSchema>;

/** The limits of an organisation without limits of its own. */
export function defaultLimits(config: Config): Limits {
  const limits = QUOTAS.map((name) => [name, config[`POSTBACK_QUOTA_${name.toUpperCase() as Uppercase<Quota>}`]]);
  return Object.fromEntries(limits) as Limits;
}

/** Not among them: the keys of AWS and the headers of OpenTelemetry, which their libraries read whenever they need them. */
const SECRETS: readonly (keyof Config)[] = [
  'TEMPORAL_API_KEY',
  'POSTBACK_TEMPORAL_CODEC_KEYS',
  'MONGODB_URI',
  'POSTBACK_SEARCH_URL',
  'POSTBACK_SEALING_KEY',
  'POSTBACK_EMBEDDINGS_KEY',
  'POSTBACK_PREVIOUS_EMBEDDINGS_KEY',
  'POSTBACK_RERANK_KEY',
  'POSTBACK_OPENAI_KEY',
  'POSTBACK_CREW_TOOL_SECRETS',
  'POSTBACK_CALLBACK_PROXY',
  'POSTBACK_OPERATOR_WEBHOOK_SECRET',
  'POSTBACK_OPERATOR_TOKEN',
];

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
