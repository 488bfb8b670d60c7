import type { ItemSentence } from 'wink-nlp';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import type { Analyse } from './analyses.js';
import { paragraphs, reader } from './reader.js';

type Output = FeatureOutput<'text/sentiment_analysis'>;
type Judged = Output['sentences'][number];

/** Sentences nearer to 0 take no side: one weak word in a long sentence. */
const NEUTRAL_BELOW = 0.1;
/** A text is mixed when the weaker side has at least this share of the sentences that take one. */
const MIXED_FROM = 1 / 3;
const { its } = reader;

/** Judges each sentence by its words and their negations, and the text by its sentences. */
export const analyse: Analyse<'text/sentiment_analysis'> = ({ text }) => {
  const sentences = paragraphs(text).flatMap(judge);
  const taking = sentences.filter(({ sentiment }) => sentiment !== 'neutral');
  const mean = taking.reduce((sum, { score }) => sum + score, 0) / Math.max(1, taking.length);
  return { sentiment: overall(taking), score: round(mean), sentences };
};

function judge(paragraph: string): Judged[] {
  const judged: Judged[] = [];
  reader
    .readDoc(paragraph)
    .sentences()
    .each((sentence: ItemSentence) => {
      const score = round(Number(sentence.out(its.sentiment)));
      const sentiment = Math.abs(score) < NEUTRAL_BELOW ? 'neutral' : score > 0 ? 'positive' : 'negative';
      judged.push({ text: sentence.out(), sentiment, score });
    });
  return judged;
}

function overall(taking: Judged[]): Output['sentiment'] {
  if (taking.length === 0) return 'neutral';
  const positive = taking.filter(({ sentiment }) => sentiment === 'positive').length;
  const negative = taking.length - positive;
  if (Math.min(positive, negative) / taking.length >= MIXED_FROM) return 'mixed';
  return positive > negative ? 'positive' : 'negative';
}

const round = (score: number) => Math.max(-1, Math.min(1, Math.round(score * 1_000) / 1_000));
