/** A sentence as a row of noun phrases, verbs and the words between them. */
import type { Noun } from './mention.js';
import type { Sentence, Token } from './tagger.js';

export interface Verb {
  kind: 'verb';
  /** Without adverbs: "was built", "will open", "refused to pay for". */
  words: string;
  /** The last verb in its basic form. */
  lemma: string;
  /** `participle` is a past form without auxiliary: "bought", which may be finite too. */
  form: 'finite' | 'participle' | 'gerund' | 'infinitive';
  /** The preposition before a gerund: "by opening". */
  preposition: string;
}

/** `and` includes "or" and "but"; `that` includes all words that begin a subordinate clause. */
export interface Mark {
  kind: 'comma' | 'and' | 'break' | 'relative' | 'that';
  word: string;
  /** In front of a relative: "for which Lena works". */
  preposition?: string;
}

export type Phrase = Noun | Verb | Mark;

const VERBAL = /^(VERB|AUX)$/;
const PARTICLE = /^(up|out|off|down|back|away|over)$/;
/** Adverbs after which something did not happen. */
const DENYING = /^(not|never|hardly|barely|scarcely|almost|nearly)$/i;
const DENIAL = /^(not|n['’]t)$/i;
/** After these, "not" denies no verb: "is not only the founder", "was not until 2015 that". */
const MORE_OR_LATER = /^(only|just|merely|simply|solely|least|until)$/i;
/** Past forms that are no participles. */
const ONLY_PAST =
  /^(ate|arose|became|began|bore|broke|came|chose|did|drew|drove|fell|flew|forgot|froze|gave|grew|hid|knew|lay|ran|rang|rode|rose|sang|sank|saw|shook|spoke|stole|swam|swore|threw|took|tore|undertook|went|withdrew|woke|wore|wrote)$/;
const RELATIVE = /^(which|who|whom|that|whose)$/;
const SUBORDINATE =
  /^(that|when|where|while|because|although|though|if|unless|whether|whereas|how|why|what|once|wherever|whenever)$/;

/**
 * Reads the phrases of a sentence. What stands in parentheses is left out.
 * @param found its noun phrases
 */
export function readPhrases({ tokens }: Sentence, found: readonly Noun[]): Phrase[] {
  const nouns = new Map(found.map((noun) => [noun.from, noun]));
  const phrases: Phrase[] = [];
  let preposition = '';
  let isDenied = false;
  let depth = 0;
  for (let at = 0; at < tokens.length; at++) {
    const { text, pos } = tokens[at]!;
    const word = text.toLowerCase();
    if (word === '(' || word === '[') depth++;
    else if (word === ')' || word === ']') depth = Math.max(0, depth - 1);
    const noun = nouns.get(at);
    if (denies(tokens, at) && /^(comma|and|noun)$/.test(phrases.at(-1)?.kind ?? '')) isDenied = true;
    if (depth > 0 || word === ')' || word === ']') {
      if (noun) at = noun.to;
      continue;
    }
    const both = `${word} ${tokens[at + 1]?.text}`;
    if (both === 'according to' || both === 'such as') {
      preposition = both;
      at++;
      continue;
    }
    const verbFrom = startOfVerb(tokens, at);
    if (verbFrom !== null && !noun) {
      const { verb, to } = readVerb(tokens, at);
      verb.preposition = preposition;
      verb.words = `${denialBefore(tokens, at)}${verb.words}`;
      phrases.push(verb);
      preposition = '';
      isDenied = false;
      at = to;
    } else if (noun) {
      noun.preposition = preposition;
      noun.isDenied = isDenied;
      isDenied = false;
      phrases.push(noun);
      preposition = '';
      at = noun.to;
    } else if (/^(ADP|SCONJ|PART)$/.test(pos) && !SUBORDINATE.test(word) && word !== "'s" && !DENIAL.test(word)) {
      preposition = preposition === '' || word !== 'of' ? word : `${preposition} of`;
    } else {
      const mark = markOf(tokens, at, phrases.at(-1));
      if (!mark) continue;
      // "under which it will": the preposition belongs to the clause.
      phrases.push({ ...mark, preposition });
      preposition = '';
    }
  }
  return phrases;
}

/** @returns null when no verb starts here; "to" and "not" may come first */
function startOfVerb(tokens: readonly Token[], at: number): number | null {
  const { pos, text } = tokens[at]!;
  if (VERBAL.test(pos)) return at;
  if (!/^to$/i.test(text)) return null;
  const next = tokens[at + 1]?.pos === 'ADV' ? at + 2 : at + 1;
  const verb = tokens[next];
  return verb && VERBAL.test(verb.pos) && verb.text.toLowerCase() === verb.lemma ? next : null;
}

/** "never worked for", "no longer lives in": without the adverb, the opposite would be stated. */
function denialBefore(tokens: readonly Token[], at: number): string {
  const adverb = tokens[at - 1]?.text.toLowerCase() ?? '';
  if (adverb === 'longer' && /^no$/i.test(tokens[at - 2]?.text ?? '')) return 'no longer ';
  return DENYING.test(adverb) ? `${adverb} ` : '';
}

const denies = (tokens: readonly Token[], at: number) =>
  DENIAL.test(tokens[at]?.text ?? '') && !MORE_OR_LATER.test(tokens[at + 1]?.text ?? '');

/** "was built", "has not agreed to finance", "grew up": one verb phrase. */
function readVerb(tokens: readonly Token[], start: number): { verb: Verb; to: number } {
  let to = start;
  for (let at = start + 1; at < tokens.length; at++) {
    const { pos, text } = tokens[at]!;
    if (VERBAL.test(pos) && !beginsVerb(tokens, at)) to = at;
    else if (pos !== 'ADV' && !(pos === 'PART' && /^(to|not|n['’]t)$/i.test(text))) break;
  }
  const particle = tokens[to + 1];
  const after = tokens[to + 2];
  const hasParticle =
    particle && PARTICLE.test(particle.text) && (particle.text !== 'over' || /^(take|hand)$/.test(tokens[to]!.lemma));
  const last = tokens[to]!;
  if (hasParticle && after) to += 1;
  let words = tokens
    .slice(start, to + 1)
    .filter(({ pos, text }, index) =>
      DENIAL.test(text) ? denies(tokens, start + index) : pos !== 'ADV' || PARTICLE.test(text) || DENYING.test(text),
    )
    .map(({ text }) => text.toLowerCase())
    .join(' ');
  // "is not married to", "isn't the son of"
  if (/^never$/i.test(tokens[to + 1]?.text ?? '')) words += ' never';
  else if (denies(tokens, to + 1)) words += ' not';
  return {
    verb: {
      kind: 'verb',
      words: words.replace(/^wo(?= n['’]t)/, 'will').replace(/ n['’]t\b/, ' not'),
      lemma: last.lemma,
      form: formOf(tokens[start]!),
      preposition: '',
    },
    to,
  };
}

/** "The ship that Olsen built sank", "The house where Ibsen lived is": after a full verb, a finite verb is that of another clause. */
function beginsVerb(tokens: readonly Token[], at: number): boolean {
  const { text, pos, lemma } = tokens[at]!;
  const word = text.toLowerCase();
  if (tokens[at - 1]!.pos !== 'VERB' || word === lemma) return false;
  if (pos === 'AUX') return !/^(been|being|having)$/.test(word);
  // "wrote plays": without a relative, it is rather a noun that the tagger took for a verb.
  const isNoun = !tokens.slice(0, at).some(({ text }) => RELATIVE.test(text.toLowerCase()) || text === 'where');
  return ONLY_PAST.test(word) || (word.endsWith('s') && !isNoun);
}

function formOf({ text, pos, lemma }: Token): Verb['form'] {
  const word = text.toLowerCase();
  if (word === 'to') return 'infinitive';
  if (pos === 'AUX') return 'finite';
  if (word.endsWith('ing') && word !== lemma) return 'gerund';
  return word === lemma || word.endsWith('s') || ONLY_PAST.test(word) ? 'finite' : 'participle';
}

function markOf(tokens: readonly Token[], at: number, last: Phrase | undefined): Mark | null {
  const { text, pos } = tokens[at]!;
  const word = text.toLowerCase();
  if (/^[,–—-]$/.test(word)) return { kind: 'comma', word };
  if (/^[;:]$/.test(word)) return { kind: 'break', word };
  if (pos === 'CCONJ') return { kind: 'and', word };
  const isAfterNoun = last?.kind === 'noun' || last?.kind === 'comma' || last?.kind === 'relative';
  if (((RELATIVE.test(word) && pos !== 'SCONJ') || word === 'where') && isAfterNoun) return { kind: 'relative', word };
  if (SUBORDINATE.test(word) || (pos === 'SCONJ' && RELATIVE.test(word))) return { kind: 'that', word };
  return null;
}

/** The names that a sentence joins: "Toyota and Panasonic", "Geim, Novoselov and Kim". @returns lists of two or more, without dates */
export function listsOf(phrases: readonly Phrase[]): Noun[][] {
  const lists: Noun[][] = [];
  phrases.forEach((phrase, at) => {
    if (phrase.kind !== 'and' || phrase.word !== 'and') return;
    const last = nameAt(phrases, at + 1);
    const end = phrases[at - 1]?.kind === 'comma' ? at - 2 : at - 1;
    const names: Noun[] = [];
    for (let place = end; ; place -= 2) {
      const name = nameAt(phrases, place);
      if (!name) break;
      names.unshift(name);
      if (name.preposition !== '' || phrases[place - 1]?.kind !== 'comma') break;
    }
    if (last && last.preposition === '' && names.length > 0) lists.push([...names, last]);
  });
  return lists;
}

function nameAt(phrases: readonly Phrase[], at: number): Noun | null {
  const phrase = phrases[at];
  return phrase?.kind === 'noun' && phrase.isName && phrase.entity && phrase.entity.type !== 'date' ? phrase : null;
}
