import model from 'wink-eng-lite-web-model';
import winkNLP, { type ItemEntity, type ItemSentence, type ItemToken, type ItsFunction } from 'wink-nlp';

/** The library and its English model, loaded once per process (40 MB). */
const nlp = winkNLP(model, ['sbd', 'negation', 'ner', 'pos']);
const { its } = nlp;
/** The library's types of `lemma` require a parameter that it does not need. */
const lemmaOf = its.lemma as unknown as ItsFunction<string>;

export interface Token {
  text: string;
  /** Universal part of speech: NOUN, PROPN, VERB, AUX, ADP, ... */
  pos: string;
  lemma: string;
}

export interface Sentence {
  text: string;
  tokens: Token[];
  /** Token ranges [from, to] of dates. */
  dates: [number, number][];
}

/** Tokens that are not words: addresses, base64, minified code. The tagger takes quadratic time for them. */
const LONG_TOKEN = /\S{60,}/g;

/** Splits text into sentences of tagged tokens. Wrapped lines are joined; each row of a table is a sentence. */
export function readSentences(text: string): Sentence[] {
  return text
    .replace(LONG_TOKEN, ' ')
    .split(/\n\s*\n/)
    .flatMap((block) => {
      const lines = block.split('\n');
      const rows = lines.filter((line) => /^[^:;]{1,60}: /.test(line)).length;
      return rows > lines.length / 2 ? lines.flatMap(tag) : tag(lines.join(' '));
    });
}

function tag(text: string): Sentence[] {
  if (!/\p{L}/u.test(text)) return [];
  const sentences: Sentence[] = [];
  nlp
    .readDoc(text)
    .sentences()
    .each((sentence: ItemSentence) => {
      const tokens: Token[] = [];
      let first = -1;
      sentence.tokens().each((token: ItemToken) => {
        if (first === -1) first = token.index();
        tokens.push({ text: token.out(), pos: token.out(its.pos) as string, lemma: token.out(lemmaOf) });
      });
      const dates: [number, number][] = [];
      sentence.entities().each((entity: ItemEntity) => {
        const [from, to] = entity.out(its.span) as unknown as [number, number];
        // "Today" and "last week" mean nothing in another document.
        if (entity.out(its.type) === 'DATE' && /\d/.test(entity.out())) dates.push([from - first, to - first]);
      });
      sentences.push({ text: sentence.out(), tokens, dates });
    });
  return sentences;
}
