/** Bounds of one item's graph. */
export const MAX_ENTITIES = 400;
export const MAX_RELATIONS = 800;
/** Sentences of an entity. */
export const MAX_MENTIONS = 20;
/** Sentences of a relation. */
export const MAX_EVIDENCE = 5;
/** Characters of a sentence. */
export const MAX_SENTENCE = 400;

/** @returns the sentence in one line, cut off at its bound */
export function shorten(sentence: string): string {
  const line = sentence.replace(/\s+/g, ' ').trim();
  return line.length > MAX_SENTENCE ? `${line.slice(0, MAX_SENTENCE - 1)}…` : line;
}
