import type { Checkpoints } from '../checkpoints.js';
import type { FileKind } from '../extraction.js';
import type { AI_FEATURES, FeatureInput, FeatureOutput, SubfeatureName } from './features.js';

/** What an AI job's provider is given, gives and throws: the words between the job's activity and `providers/ai/`. */

/** A file of a job, on the local disk, with its kind decided by content. */
export interface InputFile {
  path: string;
  filename: string;
  mime_type: string;
  kind: FileKind | 'audio' | 'unknown';
  /** Bytes. */
  size: number;
}

interface Taken {
  file: { file: InputFile };
  text: { text: string };
  messages: unknown;
}
/** A job's input as its schema gives it, but with the file on the local disk, or its text in `text`. */
export type ValidatedInput<S extends SubfeatureName = SubfeatureName> = Omit<FeatureInput<S>, 'file' | 'text'> &
  Taken[(typeof AI_FEATURES)[S]['takes']];

export interface ProviderOptions {
  /** The provider's model (4th part of the job's `model`), or null for its default. */
  model: string | null;
  /** Steps that an earlier attempt finished. */
  checkpoints: Checkpoints;
}

export interface ProviderResult<S extends SubfeatureName = SubfeatureName> {
  /** Normalised: fits the subfeature's output schema. */
  output: FeatureOutput<S>;
  /** As the provider gave it; shown only on request. */
  original: unknown;
}

/** The models of a provider, where there is a choice. */
export interface ProviderModels {
  default: string;
  known: string[];
  /** Any other name is passed on to the provider as well. */
  any: boolean;
}

export interface AiProvider<S extends SubfeatureName = SubfeatureName> {
  subfeature: S;
  /** Third part of the job's `model`. */
  name: string;
  /** Null where there is no choice. */
  models: ProviderModels | null;
  /**
   * @param heartbeat called at least every few seconds while there is progress or hope of it
   * @throws ProviderError; the signal's reason when it was aborted; anything else is a fault of this service
   */
  run(
    input: ValidatedInput<S>,
    options: ProviderOptions,
    signal: AbortSignal,
    heartbeat: () => void,
  ): Promise<ProviderResult<S>>;
}

export interface AiProviders {
  list(): AiProvider[];
  find(subfeature: string, name: string): AiProvider | undefined;
  /** Ends threads with whatever they are doing. */
  close(): Promise<void>;
}
