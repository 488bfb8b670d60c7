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
import { createRequests, type RequestLimits } from './requests.js';
import { createS3Source } from './s3.js';
import type { Source } from './source.js';
import { createWebSource } from './web.js';

export type { FetchResult, Source } from './source.js';

export interface SourceDescription {
  kind: ConnectorKind;
  settings: ConnectorSettings;
  credentials: S3Credentials | null;
}

export type OpenSource = (description: SourceDescription) => Source;

/** Opens the source of a connector. Every request uses the guarded client. */
export function createSources(outbound: OutboundClient, limits: RequestLimits): OpenSource {
  const requests = createRequests(outbound, limits);
  const openers: Record<ConnectorKind, OpenSource> = {
    web: ({ settings }) => createWebSource(settings as WebSettings, requests),
    feed: ({ settings }) => createFeedSource(settings as FeedSettings, requests),
    s3: ({ settings, credentials }) => createS3Source(settings as S3Settings, credentials, requests),
  };
  return (description) => openers[description.kind](description);
}
