/** Counts the tokens that a language model uses for one organisation, within its quota. */
export interface TokenMeter {
  /** Call before the model is called. @throws ProviderError when the quota is used up */
  admit(): Promise<void>;
  /** @param tokens input and output tokens of a finished call */
  count(tokens: number): Promise<void>;
}
