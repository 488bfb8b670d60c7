import model from 'wink-eng-lite-web-model';
import winkNLP, { type ItemEntity, type ItemSentence, type ItemToken, type ItsFunction } from 'wink-nlp';

/** The library and its English model, loaded once per process (40 MB). */
const nlp = winkNLP(model, ['sbd', 'negation', 'ner', 'pos']);
const { its } = nlp;
/** The library's types of `lemma` require a parameter that it does not need. */
const lemmaOf = its.lemma as unknown as ItsFunction<string>;

/** Words that the model does not know get the ids after this one. */
const LAST_KNOWN = Number(nlp.readDoc('zzqqx').tokens().itemAt(0).out(its.uniqueId)) - 1;

export interface Token {
  text: string;
  /** Universal part of speech: NOUN, PROPN, VERB, AUX, ADP, ... */
  pos: string;
  lemma: string;
  /** True when no space is before it. */
  joined: boolean;
}

export interface Sentence {
  text: string;
  tokens: Token[];
  /** Token ranges [from, to] of dates. */
  dates: [number, number][];
  /** In a language that the model does not know: its tags mean nothing. */
  isForeign?: boolean;
}

/** Splits a text into sentences of tagged tokens. */
export function tag(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  nlp
    .readDoc(text)
    .sentences()
    .each((sentence: ItemSentence) => {
      const tokens: Token[] = [];
      let first = -1;
      sentence.tokens().each((token: ItemToken) => {
        if (first === -1) first = token.index();
        tokens.push({
          text: token.out(),
          pos: token.out(its.pos) as string,
          lemma: token.out(lemmaOf),
          joined: token.out(its.precedingSpaces) === '',
        });
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

/** @returns the part of speech and basic form of a word that the model knows, else empty texts */
export function lookUp(word: string): { pos: string; lemma: string } {
  const token = nlp.readDoc(word).tokens().itemAt(0);
  const isKnown = token && Number(token.out(its.uniqueId)) <= LAST_KNOWN;
  return isKnown ? { pos: token.out(its.pos) as string, lemma: token.out(lemmaOf) } : { pos: '', lemma: '' };
}
