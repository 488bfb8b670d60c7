import type { Checkpoints } from '../checkpoints.js';
import { LanguageDataError, ProviderError } from '../errors.js';
import { ExtractionError, type FileKind, ITEM_ERRORS, type ItemErrorCode } from '../extraction.js';
import type { TokenMeter } from '../quotas.js';
import type { AI_FEATURES, FeatureInput, FeatureOutput, SubfeatureName } from './features.js';

/** The contract between the activity that runs an AI job and the providers in `providers/ai-jobs/`. */
export interface AiProvider<S extends SubfeatureName = SubfeatureName> {
  subfeature: S;
  /** Third part of the job's `model`. */
  name: string;
  /** Null when there is no choice. */
  models: ProviderModels | null;
  /** True when a short text takes it well under a second, so that the job runs inside its workflow's first task. */
  quick?: true;
  /** True when it uses tokens of a language model. */
  metered?: true;
  /** @throws ProviderError; the signal's reason when it was aborted; any other error is a defect of this service */
  run(input: ValidatedInput<S>, options: ProviderOptions, signal: AbortSignal): Promise<ProviderResult<S>>;
}

export interface AiProviders {
  list(): AiProvider[];
  find(subfeature: string, name: string): AiProvider | undefined;
  /** Kills processes with their running tasks. */
  close(): Promise<void>;
}

/** The models of a provider. */
export interface ProviderModels {
  default: string;
  /** The models that a job may name, the default among them. */
  known: string[];
  /** Tokens that a request may generate; null: no limit. */
  max_tokens: number | null;
}

/** A job's input by its schema, with the file on the local disk, or with the file's text in `text`. */
export type ValidatedInput<S extends SubfeatureName = SubfeatureName> = Omit<FeatureInput<S>, 'file' | 'text'> &
  PreparedInput[(typeof AI_FEATURES)[S]['takes']];

/** The prepared part of an input, by the kind of input that the subfeature takes. */
interface PreparedInput {
  file: { file: InputFile };
  text: { text: string };
  messages: unknown;
}

/** A file of a job on the local disk. */
export interface InputFile {
  path: string;
  filename: string;
  mime_type: string;
  /** Detected by content. */
  kind: FileKind | 'audio' | 'unknown';
  /** Bytes. */
  size: number;
}

export interface ProviderOptions {
  /** The provider's model (4th part of the job's `model`), or null for its default. */
  model: string | null;
  /** Steps that an earlier attempt finished. */
  checkpoints: Checkpoints;
  /** Whether `ProviderResult.original` is needed. A provider may return it in any case. */
  original?: boolean;
  /** Absent: tokens are not counted. */
  meter?: TokenMeter;
  /** Whose job it is: organisations whose texts and files wait for a process take turns. */
  org?: string;
}

export interface ProviderResult<S extends SubfeatureName = SubfeatureName> {
  /** Normalised to the subfeature's output schema. */
  output: FeatureOutput<S>;
  /** The response of the provider's library or server, as it came; shown only on request. */
  original?: unknown;
}

export type FullResult<S extends SubfeatureName> = Required<ProviderResult<S>>;

/** Sentences of item errors in the words of a job. */
const SENTENCES: Partial<Record<ItemErrorCode, string>> = {
  E2002: 'The file is encrypted. Remove the password and send it again.',
  E2004: 'No text was found in the file.',
};

/** @returns a permanent ProviderError for an ExtractionError, one to retry for missing data, and any other error unchanged */
export function asProviderError(error: unknown): unknown {
  if (error instanceof LanguageDataError) return new ProviderError(error.message, true);
  if (!(error instanceof ExtractionError)) return error;
  const sentence = SENTENCES[error.code] ?? ITEM_ERRORS[error.code];
  return new ProviderError(error.detail ? `${sentence} ${error.detail}` : sentence, false);
}
