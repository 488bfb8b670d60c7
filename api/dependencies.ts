import type { Middleware } from 'koa';
import type { Logger } from 'pino';
import type { AiProviders } from '../domain/ai-jobs/provider.js';
import type { LanguageModels } from '../domain/crews/language-model.js';
import type { DetectKind, FileKind } from '../domain/extraction.js';
import type { CardNetworks } from '../domain/payments/card-networks.js';
import type { Readiness } from '../domain/readiness.js';
import type { SharedDependencies } from '../runtime/dependencies.js';
import type { AiJobRecord } from '../storage/ai-jobs/job-record.js';
import type { ItemRecord } from '../storage/content/items.js';
import type { Retrieval } from '../storage/content/retrieval.js';
import type { Starters } from '../temporal/starters.js';
import type { TemporalUi } from './console.js';
import type { CrewsByName } from './crews/deployed-crews.js';
import type { UploadLimits } from './multipart.js';
import type { RateLimits } from './rate-limit.js';
import type { RequestBatcher } from './request-batcher.js';
import type { ProxySigns, RequestState } from './request-context.js';
import type { ShowLastRequest } from './sent-requests.js';

/** What the routes use: the stores, the starters of workflows, and the settings. */
export interface Dependencies extends Omit<SharedDependencies, 'close'>, CrewsByName {
  starters: Starters;
  retrieval: Retrieval;
  ingestBatcher: Pick<RequestBatcher<ItemRecord>, 'add'>;
  jobBatcher: Pick<RequestBatcher<AiJobRecord>, 'add'>;
  /** The providers of AI jobs, which run in the workers. */
  catalogue: Pick<AiProviders, 'find' | 'list'>;
  /** The language models of agents. */
  models: LanguageModels;
  /** Of the files of an ingest. */
  detectKind: DetectKind<FileKind>;
  /** Of uploads for jobs. */
  describeFile: DetectKind<string>;
  temporalReachable: () => Promise<boolean>;
  /** @param withIndexes whether to look for indexes that an operator should rebuild */
  readiness: (withIndexes: boolean) => Promise<Readiness>;
  proxySigns: ProxySigns;
  /** Whether an internal port serves metrics and the details of `/readyz`. */
  hasInternalPort: boolean;
  /** Whether webhooks may be sent to this machine itself: true only in development. */
  loopbackAllowed: boolean;
  /** Null when the console shows no links to it. */
  temporalUi: TemporalUi | null;
  /** Null: there is no operator over HTTP. */
  operatorToken: string | null;
  /** Of an ingest. */
  limits: UploadLimits & { maxItems: number };
  rateLimits: RateLimits;
  /** Limits the requests of a key. */
  rateLimit: Middleware<RequestState>;
  showLastRequest: ShowLastRequest;
  eventLimits: {
    /** Streams of one organisation at this process. */
    connections: number;
    /** How long events can be read after they happened, in milliseconds. */
    resumeMs: number;
  };
  /** Sends a request to this API. */
  fetchHere: (request: Request) => Promise<Response>;
  /** Aborted when the process starts to shut down. */
  stopping: AbortSignal;
  cardNetworks: CardNetworks;
  /** The address of the API as people reach it; null: unknown. */
  publicUrl: string | null;
  /** Milliseconds a receiver has to respond. */
  timeoutMs: number;
  /** Milliseconds after which a job fails. */
  jobTimeLimitMs: number;
  /** Milliseconds for which jobs can use an upload. */
  uploadRetentionMs: number;
  log: Logger;
}
