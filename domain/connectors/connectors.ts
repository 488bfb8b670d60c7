/** Connectors: the settings of clients, and the states, outcomes and errors of syncs. */
import { z } from 'zod';
import { nameSchema } from '../content/databases.js';

export const CONNECTOR_KINDS = ['web', 'feed', 's3'] as const;
export type ConnectorKind = (typeof CONNECTOR_KINDS)[number];

/** Outcome of a resource in a sync. Removed resources are only counted, because they have no record. */
export const RESOURCE_OUTCOMES = ['new', 'changed', 'unchanged', 'failed'] as const;
export type ResourceOutcome = (typeof RESOURCE_OUTCOMES)[number];
export type SyncCounts = Record<ResourceOutcome | 'removed', number>;

/** Why a resource or a whole listing could not be read, with the message for people. */
export const RESOURCE_ERRORS = {
  ROBOTS_DISALLOWED: 'robots.txt of the site does not allow this page.',
  ROBOTS_UNAVAILABLE: 'robots.txt of the site could not be read, so its pages are not fetched.',
  BLOCKED_ADDRESS: 'Postback does not connect to this address.',
  UNREACHABLE: 'The server could not be reached.',
  HTTP_STATUS: 'The server rejected the request.',
  NOT_FOUND: 'The server has nothing at this address.',
  REDIRECTED: 'The address redirects to another site.',
  TOO_LARGE: 'The resource is too large for a connector.',
  INVALID_LISTING: 'The listing is not valid.',
  DATABASE_NOT_FOUND: 'The database no longer exists.',
  QUOTA_EXCEEDED: 'The new items would exceed a quota of the organisation.',
  INTERNAL_ERROR: 'The sync failed because of an internal error.',
} as const;
export type ResourceErrorCode = keyof typeof RESOURCE_ERRORS;

/** A resource or a listing could not be read. `message` is for the client and contains no address. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
  readonly code: ResourceErrorCode;
  /** Whether another attempt soon may succeed. */
  readonly retryable: boolean;

  constructor(code: ResourceErrorCode, message: string = RESOURCE_ERRORS[code], retryable = false) {
    super(message);
    this.code = code;
    this.retryable = retryable;
  }
}

/** What a server says about a version of a resource, which a later request can repeat (HTTP validators). */
export interface Validators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}

const MAX_START_PAGES = 100;
const address = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
  .max(2048)
  .meta({ pattern: '^[Hh][Tt][Tt][Pp][Ss]?:' });

const webSettingsSchema = z
  .object({
    urls: z.array(address).min(1).max(MAX_START_PAGES).optional().meta({ description: 'Pages to sync.' }),
    sitemap: address.optional().meta({ description: 'A sitemap or a sitemap index, optionally gzipped.' }),
    follow_links: z.boolean().default(false).meta({ description: 'Whether to follow links to the same site.' }),
    max_depth: z
      .int()
      .min(1)
      .max(10)
      .default(2)
      .meta({ description: 'Maximum number of links from one of the `urls` to a page.' }),
    max_pages: z
      .int()
      .min(1)
      .max(100_000)
      .optional()
      .meta({ description: 'Maximum number of pages per sync, in addition to the limit of the service.' }),
  })
  .strict()
  .refine((web) => web.urls !== undefined || web.sitemap !== undefined, 'must have urls or sitemap')
  .meta({ anyOf: [{ required: ['urls'] }, { required: ['sitemap'] }] });

const feedSettingsSchema = z
  .object({
    url: address.meta({ description: 'An RSS or Atom feed.' }),
    remove_dropped: z.boolean().default(false).meta({
      description: 'Whether to remove entries that the feed no longer lists. Most feeds list only the newest entries.',
    }),
  })
  .strict();

const s3SettingsSchema = z
  .object({
    endpoint: address.meta({ example: 'https://s3.eu-central-1.amazonaws.com' }),
    region: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/)
      .default('us-east-1'),
    bucket: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{1,254}$/, 'must be the name of a bucket'),
    prefix: z.string().max(1024).default(''),
    path_style: z
      .boolean()
      .default(true)
      .meta({ description: 'Whether the URL has the bucket in its path; otherwise in front of the host.' }),
  })
  .strict();

/** A value that requests carry in a header. */
const inHeader = z.string().regex(/^[!-~]*$/, 'must be printable ASCII without spaces');

/** Stored sealed, and never part of a response. */
const s3CredentialsSchema = z
  .object({
    access_key_id: inHeader.min(1).max(256),
    secret_access_key: z.string().min(1).max(1024),
    session_token: inHeader.min(1).max(4096).optional(),
  })
  .strict();
export type S3Credentials = z.output<typeof s3CredentialsSchema>;

const interval = z.int().min(1).max(1000);
const unit = z.enum(['minutes', 'hours']);

export const scheduleSchema = z
  .object({
    every: interval.default(24),
    unit: unit.default('hours'),
    paused: z.boolean().default(false),
  })
  .strict();
export type ConnectorSchedule = z.output<typeof scheduleSchema>;

const common = {
  database: nameSchema,
  collection: nameSchema.default('default'),
  schedule: scheduleSchema.prefault({}),
};

export const createConnectorSchema = z.discriminatedUnion('kind', [
  z
    .object({ kind: z.literal('web'), ...common, settings: webSettingsSchema })
    .meta({ id: 'CreateWebConnectorRequest' }),
  z
    .object({ kind: z.literal('feed'), ...common, settings: feedSettingsSchema })
    .meta({ id: 'CreateFeedConnectorRequest' }),
  z
    .object({
      kind: z.literal('s3'),
      ...common,
      settings: s3SettingsSchema,
      credentials: s3CredentialsSchema
        .optional()
        .meta({ description: 'Stored encrypted and never returned. Without credentials, requests are unsigned.' }),
    })
    .meta({ id: 'CreateS3ConnectorRequest' }),
]);

export const SETTINGS_SCHEMAS = { web: webSettingsSchema, feed: feedSettingsSchema, s3: s3SettingsSchema };

function withoutDialect({ $schema, ...schema }: z.core.JSONSchema.JSONSchema): object {
  return schema;
}

/** A change to a connector. Absent fields do not change; settings are replaced as a whole. */
export const changeConnectorSchema = z
  .object({
    settings: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({
        description: "All settings of the connector's kind.",
        anyOf: Object.values(SETTINGS_SCHEMAS).map((schema) => withoutDialect(z.toJSONSchema(schema, { io: 'input' }))),
      }),
    credentials: s3CredentialsSchema.nullable().optional().meta({ description: 'Null removes them.' }),
    schedule: z
      .object({ every: interval.optional(), unit: unit.optional(), paused: z.boolean().optional() })
      .strict()
      .optional(),
  })
  .strict();

export type WebSettings = z.output<typeof webSettingsSchema>;
export type FeedSettings = z.output<typeof feedSettingsSchema>;
export type S3Settings = z.output<typeof s3SettingsSchema>;
export type ConnectorSettings = WebSettings | FeedSettings | S3Settings;

/** @returns the milliseconds between two syncs */
export function intervalOf({ every, unit }: ConnectorSchedule): number {
  return every * (unit === 'hours' ? 3_600_000 : 60_000);
}

/** @returns every URL in the settings, with the name of its field */
export function addressesOf(settings: ConnectorSettings): [field: string, url: string][] {
  if ('endpoint' in settings) return [['settings.endpoint', settings.endpoint]];
  if ('url' in settings) return [['settings.url', settings.url]];
  const pages = (settings.urls ?? []).map((url, n): [string, string] => [`settings.urls.${n}`, url]);
  return settings.sitemap === undefined ? pages : [['settings.sitemap', settings.sitemap], ...pages];
}
