import type {
  ConnectorKind,
  ConnectorSettings,
  FeedSettings,
  S3Credentials,
  S3Settings,
  WebSettings,
} from '../../domain/connectors/connectors.js';
import type { OutboundClient } from '../../domain/outbound.js';
import { createFeedSource } from './feed.js';
import type { ForeignParser } from './parsing/index.js';
import { createRequests, type RequestLimits } from './requests.js';
import { createS3Source } from './s3.js';
import type { Source, SourceTools } from './source.js';
import { createWebSource } from './web.js';

export { createForeignParser } from './parsing/index.js';
export type { FetchResult, Source } from './source.js';

export interface SourceDescription {
  kind: ConnectorKind;
  settings: ConnectorSettings;
  credentials: S3Credentials | null;
}

/** @param folder temporary, and lasts as long as the source */
export type OpenSource = (description: SourceDescription, folder: string) => Source;

/** Opens the source of a connector. Every request uses the guarded client, and every response is parsed by `parser`. */
export function createSources(outbound: OutboundClient, limits: RequestLimits, parser: ForeignParser): OpenSource {
  const requests = createRequests(outbound, limits);
  const openers: Record<ConnectorKind, (description: SourceDescription, tools: SourceTools) => Source> = {
    web: ({ settings }, tools) => createWebSource(settings as WebSettings, tools),
    feed: ({ settings }, tools) => createFeedSource(settings as FeedSettings, tools),
    s3: ({ settings, credentials }, tools) => createS3Source(settings as S3Settings, credentials, tools),
  };
  return (description, folder) => openers[description.kind](description, { requests, parser, folder });
}
