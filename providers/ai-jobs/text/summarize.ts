import type { ItemSentence } from 'wink-nlp';
import type { FullResult, ValidatedInput } from '../../../domain/ai-jobs/provider.js';
import { nlp, paragraphs } from './english.js';

/** Words of a usable sentence: shorter ones are exclamations and headings, longer ones tables and lists. */
const WORDS = { min: 5, max: 60 };
const { its } = nlp;

/** Quotes the sentences that share most words with the rest of the text, unchanged and in their order. */
export function analyse({ text, sentences: wanted }: ValidatedInput<'text/summarize'>): FullResult<'text/summarize'> {
  const doc = nlp.readDoc(paragraphs(text).join('\n\n'));
  const sentences: { text: string; words: number }[] = [];
  doc.sentences().each((sentence: ItemSentence) => {
    const words = sentence
      .tokens()
      .filter((token) => token.out(its.type) === 'word')
      .length();
    sentences.push({ text: sentence.out().trim(), words });
  });
  const usable = sentences.filter(({ words }) => words >= WORDS.min && words <= WORDS.max);
  const fits = new Set(usable.length >= wanted ? usable : sentences);
  const importance = doc.out(its.sentenceWiseImportance) as unknown as { index: number; importance: number }[];
  const chosen = importance
    .filter(({ index }) => fits.has(sentences[index]!))
    .sort((a, b) => b.importance - a.importance || a.index - b.index)
    .slice(0, wanted)
    .sort((a, b) => a.index - b.index);
  return {
    output: { summary: chosen.map(({ index }) => sentences[index]!.text).join(' ') },
    original: { sentences: sentences.map(({ text }) => text), sentenceWiseImportance: importance },
  };
}
