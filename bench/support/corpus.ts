import type { Embedder } from '../../domain/content/search.js';

export const TOPICS = 200;
const WORDS_PER_TOPIC = 40;
const COMMON_WORDS = 2_000;
const SYLLABLES = 'ba ce di fo gu ha ke li mo nu pa re si to vu za'.split(' ');
/** Distance of a chunk's vector from its topic's. Chunks of a topic are then about as similar as with bge-small. */
const SPREAD = 0.035;

export type Corpus = Awaited<ReturnType<typeof createCorpus>>;

/**
 * Generates texts about topics, with matching vectors. The model embeds the topics, so that questions are close to them
 * as they are to real chunks. A chunk's vector is that of its topic plus noise, because embedding 100,000 takes hours.
 */
export async function createCorpus(embedder: Pick<Embedder, 'embedDocuments'>) {
  const random = seeded(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() ** 2 * list.length)]!;
  const word = (n: number) => {
    let letters = '';
    for (let left = n + SYLLABLES.length; left > 0; left = Math.floor(left / SYLLABLES.length)) {
      letters += SYLLABLES[left % SYLLABLES.length];
    }
    return letters;
  };
  const common = Array.from({ length: COMMON_WORDS }, (_, n) => word(n));
  const topics = Array.from({ length: TOPICS }, (_, topic) =>
    Array.from({ length: WORDS_PER_TOPIC }, (_, n) => word(COMMON_WORDS + topic * WORDS_PER_TOPIC + n)),
  );
  const sentence = (topic: number, length: number) =>
    Array.from({ length }, () => (random() < 0.2 ? pick(topics[topic % TOPICS]!) : pick(common))).join(' ');
  const centres = await embedder.embedDocuments(topics.map((_, topic) => sentence(topic, 60)));

  return {
    text: (topic: number) => sentence(topic, 60),
    question: (topic: number) => `${sentence(topic, 4)} ${pick(topics[topic % TOPICS]!)}?`,
    vector(topic: number): Float32Array {
      const noisy = centres[topic % TOPICS]!.map((value) => value + (random() + random() - 1) * SPREAD * 2);
      const length = Math.hypot(...noisy);
      return noisy.map((value) => value / length);
    },
  };
}

/** A generator of random numbers that returns the same sequence in each run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
