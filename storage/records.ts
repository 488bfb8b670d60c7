/** The documents as MongoDB holds them. Field names are the specification's where it has one. */
import type { Binary } from 'mongodb';
import type { JobStatus } from '../domain/ai-jobs.js';
import type { KeyKind } from '../domain/api-keys.js';
import type { CallbackEvent } from '../domain/callbacks.js';
import type {
  ConnectorKind,
  ConnectorSchedule,
  ConnectorSettings,
  ResourceOutcome,
  SyncCounts,
  SyncStatus,
} from '../domain/connectors.js';
import type { CrewDefinition, CrewTaskStatus, ExecutionStatus, WebhookUrls } from '../domain/crews.js';
import type { FileKind } from '../domain/extraction.js';
import type { MetadataField } from '../domain/metadata.js';
import type { SdkNextAction, StoredAuthenticationStatus } from '../domain/payments.js';
import type { ItemType } from '../domain/search.js';
import type { DatabaseStatus, DeliveryState, IndexingStatus } from '../domain/states.js';
import type { EventType, IndexingEvent } from '../domain/webhooks.js';

export type { MetadataField };

export interface ApiKeyRecord {
  _id: string;
  org: string;
  kind: KeyKind;
  label: string;
  /** SHA-256 of the key, hex. The key itself is never stored. */
  hash: string;
  /** First characters of the key, for people who compare lists. */
  hint: string;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

export interface DatabaseRecord {
  /** Internal id (`tnt_…`). */
  _id: string;
  org: string;
  name: string;
  status: DatabaseStatus;
  metadata_schema: MetadataField[];
  /** Set by the provisioning workflow, part by part. */
  graph_ready: boolean;
  created_at: Date;
  updated_at: Date;
}

export type ItemSource =
  | { kind: 'file'; file_id: string; filename: string; file_kind: FileKind; mime_type: string; size: number }
  | { kind: 'text'; text: string };

export interface ItemRecord {
  _id: string;
  org: string;
  /** The database's internal id. */
  tenant: string;
  database: string;
  collection: string;
  /** The client's id, unique in the database. */
  id: string;
  type: ItemType;
  /** Grows with each replacement; a workflow works on exactly one. */
  version: number;
  title: string | null;
  source: ItemSource;
  /** Of the source; filled in when the item is queued. */
  bytes?: number;
  /** Tells an ingest that would change nothing; absent when that cannot be told. */
  content_hash?: string | undefined;
  metadata: Record<string, unknown>;
  additional_metadata: Record<string, unknown>;
  /** The ingest request it came with. */
  batch: string;
  indexing_status: IndexingStatus;
  error_code: string | null;
  error_message: string | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  updated_at: Date;
}

/**
 * What is left of a deleted item: its version counter, since a workflow's id is never used twice, and until it has been
 * cleared away what the item has left behind.
 */
export interface RemovedItemRecord {
  /** The item's key; an item that is added again under its id gets it back. */
  _id: string;
  org: string;
  tenant: string;
  /** The client's id. */
  id: string;
  /** The last one used. */
  version: number;
  /** The removal that has to clear away chunks, index rows, graph and files; null once that is done. */
  removal: string | null;
  /** File ids. */
  files: string[];
  /** From when on the sweep may wonder whether the removal's workflow exists. */
  check_at: Date;
}

export interface ChunkRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  collection: string;
  type: ItemType;
  title: string | null;
  ordinal: number;
  text: string;
  headings: string[];
  page: number | null;
  page_label?: string;
  slide?: number;
  slide_title?: string;
  sheet: string | null;
  /** First and last row of a table, from 1. */
  rows?: [number, number];
  /** 32-bit floats, little endian; null until embedded, or for good where no model is at hand. */
  vector: Binary | null;
}

export interface EntityRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  name: string;
  /** Folded for look-ups across items. */
  key: string;
  type: string;
  mentions: { chunk_id: string; sentence: string }[];
}

export interface RelationRecord {
  _id: string;
  item: string;
  version: number;
  tenant: string;
  source_id: string;
  source: string;
  target: string;
  relation: string;
  evidence: { chunk_id: string; sentence: string }[];
}

export interface FeedbackRecord {
  /** `fbk_…`. */
  _id: string;
  org: string;
  tenant: string;
  database: string;
  query: string | null;
  /** The client's id of the item; of a chunk's, when a chunk was rated. Null when the answer as a whole was. */
  source_id: string | null;
  chunk_id: string | null;
  /** -1 to 1. */
  rating: number;
  comment: string | null;
  /** Database, source, key and question: of the ratings that have these in common only the last counts. */
  vote: string;
  /** Whether it is that one. */
  counts: boolean;
  created_at: Date;
}

/** The ratings that count of one source, summed up. */
export interface FeedbackTallyRecord {
  /** Internal id of the database and the client's id of the item. */
  _id: string;
  tenant: string;
  sum: number;
  count: number;
}

export interface AiJobRecord {
  /** UUID. */
  _id: string;
  org: string;
  feature: string;
  subfeature: string;
  provider: string;
  model: string | null;
  status: JobStatus;
  /** The input as JSON, because its names may be any. */
  input: string;
  /** The upload that the input names. */
  file_id: string | null;
  webhook_receiver: string | null;
  /** As JSON, exactly as they were sent. */
  user_parameters: string | null;
  show_original_response: boolean;
  /** Milliseconds from its start until it is given up. */
  time_limit_ms: number;
  /** The key that signs its callback, the current one when the job was made. */
  signing_key: string | null;
  error_message: string | null;
  cancel_requested: boolean;
  /** Runs that were begun and have not ended in an orderly way: more than a few, and it is what ends its workers. */
  runs: number;
  provider_failures: number;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** What a provider has made of a job: canonical JSON, because its names may be any, in gzip. */
export interface AiJobResultRecord {
  /** The job. */
  _id: string;
  output: Binary;
  original: Binary | null;
  /** Set with the job's, when it ends. */
  expires_at: Date | null;
}

/** A finished part (page) of a job, or of a version of an item, under way. */
export interface PartRecord {
  /** Owner and part. */
  _id: string;
  /** The job's id, or the item's with its version. */
  owner: string;
  value: string;
  expires_at: Date;
}

export interface UploadRecord {
  /** `fil_…`, also the name of its content in the file store. */
  _id: string;
  org: string;
  filename: string;
  /** Bytes. */
  size: number;
  mime_type: string;
  created_at: Date;
  expires_at: Date;
}

export interface SigningKeyRecord {
  _id: string;
  /** PEM, PKCS#8. */
  sealed_private_key: Binary;
  /** PEM, SPKI. */
  public_key: string;
  /** True of exactly one. */
  current: boolean;
  created_at: Date;
  retired_at: Date | null;
}

export interface RegistrationRecord {
  /** The organisation: there is one registration each. */
  _id: string;
  url: string;
  event_types: EventType[];
  sealed_secret: Binary | null;
  /** Since when every attempt has failed; null (or absent) after a success. */
  failing_since?: Date | null;
  /** Set when the service stopped sending; registering again clears it. */
  disabled_at?: Date | null;
  disabled_reason?: string | null;
  created_at: Date;
  updated_at: Date;
}

export interface AttemptEntry {
  at: Date;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  /** First KiB of the receiver's answer, as text. */
  answer: string | null;
}

export interface DeliveryRecord {
  _id: string;
  org: string;
  event_type: CallbackEvent;
  /** What it announces; one delivery each. */
  subject: string;
  /** The announced thing's id as its client knows it. */
  doc_id: string;
  /** Of an item, when it ended. */
  indexing_status: IndexingStatus | null;
  /** Tells receivers apart where an organisation has several (`receiverKey`); null for its registration. */
  receiver: string | null;
  /** The body; null where it is made from the announced thing's own record. */
  payload: IndexingEvent | null;
  /** Of a crew's callback: where it goes to and the body, made once. */
  message?: CrewMessage;
  status: DeliveryState;
  attempts: number;
  /** Failed attempts since the schedule was started (anew): its place in the schedule. */
  failures: number;
  error_code: string | null;
  error_message: string | null;
  /** The address of the last attempt. */
  url: string | null;
  attempt_log: AttemptEntry[];
  /** When the next attempt is due; null once there is none. */
  next_attempt_at: Date | null;
  /** Put back by a person, and not claimed since. */
  requeued?: boolean;
  /** While `sweeping`: until when the claim holds if the claimant is never heard of again. */
  claimed_until: Date | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

/** A crew's callback as it is sent. */
export interface CrewMessage {
  url: string;
  /** JSON; every attempt sends these bytes. */
  body: string;
}

/** A task within an execution. */
export interface CrewTaskRecord {
  task_id: string;
  agent: string;
  status: CrewTaskStatus;
  attempts: number;
  /** Of the latest attempt that gave one. */
  output: string | null;
  /** The label of the model that works on it. */
  model: string | null;
}

export interface CrewExecutionRecord {
  /** UUID. */
  _id: string;
  org: string;
  crew: string;
  /** As the crew was when it was kicked off: an execution goes on with it, whatever happens to the files. */
  definition: CrewDefinition;
  /** As JSON, because their names may be any; so is `meta`. */
  inputs: string;
  meta: string | null;
  status: ExecutionStatus;
  /** Of the kickoff, then of the latest resume. */
  urls: WebhookUrls;
  tasks: CrewTaskRecord[];
  error_message: string | null;
  /** From when on the sweep may wonder whether its workflow exists. */
  check_at: Date;
  created_at: Date;
  finished_at: Date | null;
  /** When MongoDB removes the record; null as long as it is under way. */
  expires_at: Date | null;
}

/** A step of an attempt at a task: what a model or a tool gave. */
export interface CrewStepRecord {
  /** Execution, task, attempt, step and (of a tool) call. */
  _id: string;
  execution: string;
  task: string;
  attempt: number;
  step: number;
  /** Of a tool call; null for the model's. */
  call: number | null;
  /** An `AgentStep` as JSON. */
  content: string;
  expires_at: Date | null;
}

/** What a person answered. */
export interface CrewFeedbackRecord {
  /** `fbk_…` */
  _id: string;
  execution: string;
  task: string;
  attempt: number;
  text: string;
  is_approve: boolean;
  urls: WebhookUrls;
  created_at: Date;
  /** Null until it took effect; one that never did counts for nothing. */
  applied_at: Date | null;
  /** What the attempt that it is about gave. */
  output: string | null;
  expires_at: Date | null;
}

export interface AuthenticationRecord {
  _id: string;
  org: string;
  status: StoredAuthenticationStatus;
  /** In the currency's minor unit. */
  amount: number;
  currency: string;
  /** SHA-256 of the client secret, hex. The secret itself is never stored. */
  client_secret_hash: string;
  /** JSON of customer, return URL and metadata. */
  sealed_details: Binary;
  /** The first eligibility check, which decides. */
  check: { fingerprint: string; sdk_next_action: SdkNextAction; checked_at: Date } | null;
  created_at: Date;
  expires_at: Date;
  closed_at: Date | null;
  /** When MongoDB removes it. */
  remove_at: Date;
}

/** What the customer's browser sent to an eligibility check, in a record of its own because it goes earlier. */
export interface EligibilityDataRecord {
  /** The authentication's id. */
  _id: string;
  org: string;
  /** JSON of `eligibility_check_data`. */
  sealed: Binary;
  remove_at: Date;
}

export interface ConnectorRecord {
  /** `con_…` */
  _id: string;
  org: string;
  kind: ConnectorKind;
  /** The database's internal id, and its name. */
  tenant: string;
  database: string;
  collection: string;
  /** As its kind's schema gives them. */
  settings: ConnectorSettings;
  /** JSON. */
  sealed_credentials: Binary | null;
  schedule: ConnectorSchedule;
  sync: SyncRecord | null;
  /** The feed's validators at the last sync without a failure. */
  listing: Validators;
  /** What Temporal has yet to be told: its schedule, or that it is gone. */
  pending: boolean;
  /** Set when it was deleted; only its removal knows it from then on. */
  deleted_at: Date | null;
  remove_items: boolean;
  created_at: Date;
  updated_at: Date;
}

/** The connector's latest sync. */
export interface SyncRecord {
  number: number;
  status: SyncStatus;
  started_at: Date;
  finished_at: Date | null;
  /** Where the listing goes on; null at its beginning and after its end. */
  cursor: string | null;
  listed: boolean;
  /** More was listed than a sync takes in. */
  truncated: boolean;
  /** Of its listing; kept when it ends without a failure. */
  validators: Validators;
  steps: number;
  removed: number;
  error_code: string | null;
  error_message: string | null;
  /** Counted once it has ended. */
  counts: SyncCounts | null;
}

/** What a source said about a version of a resource, to be asked by at the next sync. */
export interface Validators {
  etag?: string | undefined;
  last_modified?: string | undefined;
}

export interface ConnectorResourceRecord extends Validators {
  /** Connector and hash of the key. */
  _id: string;
  org: string;
  connector: string;
  /** Address of a page, id of a feed's entry, key of an object. */
  key: string;
  /** Links from the start to here. */
  depth: number;
  /** The last sync that has met it. */
  sync: number;
  /** To be fetched in that sync. */
  due: boolean;
  outcome: ResourceOutcome | null;
  /** What the listing says about its version; taken over as `etag` once that is fetched. */
  listed_etag?: string | undefined;
  /** SHA-256 of its content, hex. */
  hash: string | null;
  /** The id of its item; null as long as there is none. */
  item_id: string | null;
  /** Where a page leads to on its site. */
  links?: string[] | undefined;
  error?: { code: string; message: string; at: Date } | undefined;
}

export interface IdempotencyRecord {
  /** Organisation, route and SHA-256 of the key. */
  _id: string;
  /** SHA-256 of the request, hex. */
  fingerprint: string;
  /** Names the claim, so that one that was lost is known as such. */
  token: string;
  lease_until: Date;
  /** Null while the request is carried out. */
  answer: { status: number; headers: Record<string, string>; sealed_body: Binary } | null;
  /** When the record is removed. */
  expires_at: Date;
}
