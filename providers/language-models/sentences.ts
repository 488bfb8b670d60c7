const sentenceSegmenter = new Intl.Segmenter('en', { granularity: 'sentence' });
const wordSegmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** Words without meaning for the topic of a sentence. */
const COMMON = new Set(
  (
    'a about after all also an and any are as at be been but by can could did do does for from get give given had has have ' +
    'how i if in into is it its may more must my no not of on one only or our out shall she should so some than that the ' +
    'their them then there these they this to under up was we were what when where which who will with would you your'
  ).split(' '),
);
/** Shorter sentences are headings, greetings and labels. */
const MIN_WORDS = 4;
/** Letters that the inflected forms of most words share. */
const STEM = 6;
const stem = (word: string) => (word.length > 3 ? word.replace(/(?<!s)s$/, '') : word).slice(0, STEM);

/** Splits a text into sentences. Wrapped lines are joined; list marks and numbered headers of sources are removed. */
export function sentencesOf(text: string): string[] {
  return text
    .replace(/\n(?=\p{Ll})/gu, ' ')
    .split(/\n+/)
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim())
    .filter((line) => !/^\[\d+\] /.test(line))
    .flatMap((line) => [...sentenceSegmenter.segment(line)].map(({ segment }) => segment.trim()))
    .filter((sentence) => wordsOf(sentence).length >= MIN_WORDS);
}

/** Scores each sentence by the words it shares with the questions. Rare words count more, long sentences a little less. */
export function rank(sentences: readonly string[], questions: readonly { text: string; weight: number }[]): number[] {
  const stems = sentences.map(stemsOf);
  const weights = new Map<string, number>();
  for (const { text, weight } of questions) {
    for (const word of stemsOf(text)) weights.set(word, Math.max(weight, weights.get(word) ?? 0));
  }
  const frequency = (word: string) => stems.filter((own) => own.has(word)).length;
  const scores = new Map([...weights].map(([word, weight]) => [word, weight / (1 + frequency(word))]));
  return stems.map((own) => {
    const shared = [...own].reduce((sum, word) => sum + (scores.get(word) ?? 0), 0);
    return shared / Math.log2(own.size + 3);
  });
}

function stemsOf(text: string): Set<string> {
  return new Set(wordsOf(text).flatMap((word) => (word.length < 3 || COMMON.has(word) ? [] : [stem(word)])));
}

function wordsOf(text: string): string[] {
  return [...wordSegmenter.segment(text.toLowerCase())].flatMap(({ segment, isWordLike }) =>
    isWordLike ? [segment] : [],
  );
}
