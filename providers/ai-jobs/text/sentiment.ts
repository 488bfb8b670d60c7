import type { ItemSentence } from 'wink-nlp';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import type { ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { nlp, paragraphs } from './english.js';

type Output = FeatureOutput<'text/sentiment_analysis'>;
type Sentence = Output['sentences'][number];

/** Scores nearer to 0 come from one weak word in a long sentence. */
const NEUTRAL_BELOW = 0.1;
/** A text is mixed when its rarer sentiment has at least this share of the sentences that are not neutral. */
const MIXED_FROM = 1 / 3;
const { its } = nlp;

/** Scores each sentence by its words and their negations, and the text by its sentences that are not neutral. */
export function analyse({ text }: ValidatedInput<'text/sentiment_analysis'>): Output {
  const sentences = paragraphs(text).flatMap(scoreSentences);
  const polar = sentences.filter(({ sentiment }) => sentiment !== 'neutral');
  const mean = polar.reduce((sum, { score }) => sum + score, 0) / Math.max(1, polar.length);
  return { sentiment: overall(polar), score: round(mean), sentences };
}

function scoreSentences(paragraph: string): Sentence[] {
  const sentences: Sentence[] = [];
  nlp
    .readDoc(paragraph)
    .sentences()
    .each((sentence: ItemSentence) => {
      const score = round(Number(sentence.out(its.sentiment)));
      const sentiment = Math.abs(score) < NEUTRAL_BELOW ? 'neutral' : score > 0 ? 'positive' : 'negative';
      sentences.push({ text: sentence.out(), sentiment, score });
    });
  return sentences;
}

function overall(polar: Sentence[]): Output['sentiment'] {
  if (polar.length === 0) return 'neutral';
  const positive = polar.filter(({ sentiment }) => sentiment === 'positive').length;
  const negative = polar.length - positive;
  if (Math.min(positive, negative) / polar.length >= MIXED_FROM) return 'mixed';
  return positive > negative ? 'positive' : 'negative';
}

const round = (score: number) => Math.max(-1, Math.min(1, Math.round(score * 1_000) / 1_000));
