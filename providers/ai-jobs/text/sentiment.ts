import type { ItemSentence } from 'wink-nlp';
import type { FeatureOutput } from '../../../domain/ai-jobs/features.js';
import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { nlp, paragraphs } from './english.js';

type Output = FeatureOutput<'text/sentiment_analysis'>;
type Sentence = Output['sentences'][number];

/** Scores nearer to 0 come from one weak word in a long sentence. */
const NEUTRAL_BELOW = 0.1;
/** A text is mixed when its rarer sentiment has at least this share of the sentences that are not neutral. */
const MIXED_FROM = 1 / 3;
const { its } = nlp;

/** Scores each sentence by its words and their negations, and the text by its sentences that are not neutral. */
export function analyse({ text }: ValidatedInput<'text/sentiment_analysis'>): FullResult<'text/sentiment_analysis'> {
  const scored = paragraphs(text).flatMap(scoreSentences);
  const sentences = scored.map(toSentence);
  const polar = sentences.filter(({ sentiment }) => sentiment !== 'neutral');
  const mean = polar.reduce((sum, { score }) => sum + score, 0) / Math.max(1, polar.length);
  return { output: { sentiment: overall(polar), score: round(mean), sentences }, original: { sentences: scored } };
}

/** A sentence as the library returns it; the sentiment is from -1 to 1. */
interface Scored {
  sentence: string;
  sentiment: number;
}

function scoreSentences(paragraph: string): Scored[] {
  const sentences: Scored[] = [];
  nlp
    .readDoc(paragraph)
    .sentences()
    .each((sentence: ItemSentence) => {
      sentences.push({ sentence: sentence.out(), sentiment: Number(sentence.out(its.sentiment)) });
    });
  return sentences;
}

function toSentence({ sentence: text, sentiment: exact }: Scored): Sentence {
  const score = round(exact);
  const sentiment = Math.abs(score) < NEUTRAL_BELOW ? 'neutral' : score > 0 ? 'positive' : 'negative';
  return { text, sentiment, score };
}

function overall(polar: Sentence[]): Output['sentiment'] {
  if (polar.length === 0) return 'neutral';
  const positive = polar.filter(({ sentiment }) => sentiment === 'positive').length;
  const negative = polar.length - positive;
  if (Math.min(positive, negative) / polar.length >= MIXED_FROM) return 'mixed';
  return positive > negative ? 'positive' : 'negative';
}

const round = (score: number) => Math.max(-1, Math.min(1, Math.round(score * 1_000) / 1_000));
