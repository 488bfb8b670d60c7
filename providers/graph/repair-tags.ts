import { OFFICE, TITLE_END, TITLE_WORD } from './classify-name.js';
import { CODE_WORD } from './plain-prose.js';
import { PARTICLE } from './proper-names.js';
import type { Token } from './tagger.js';
import {
  canBePluralVerb,
  canBeVerb,
  isKnownOrganization,
  isPlural,
  isRole,
  needsActor,
  usualTag,
} from './vocabulary.js';

const MODAL = /^(will|would|can|could|shall|should|may|might|must|'ll)$/i;
const ARTICLE = /^(the|a|an|every|each|no|its|their|his|our|my|your)$/i;
const POINTS_BACK = /^(which|who|that|it|he|she)$/i;
const VERBAL = /^(VERB|AUX)$/;
const isVerbal = ({ pos }: Token) => VERBAL.test(pos);
const CAPITAL = /^\p{Lu}/u;

/**
 * Mends what the tagger often gets wrong, from the words beside a word. It changes the tokens and returns them.
 * @param names words that the text has with a capital letter inside a sentence
 */
export function repairTags(tokens: Token[], names: ReadonlySet<string>): Token[] {
  const isTitle = inCapitals(tokens);
  const count = (form: RegExp) => tokens.filter(({ text }) => form.test(text)).length;
  // "Ingrid: DO NOT LET HIM LEAVE."
  const isLoud = count(/^\p{Lu}{2,}$/u) > count(/^\p{Lu}\p{Ll}/u);
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (isParticle(tokens, at)) token.pos = 'ADP';
    else if (token.text === CODE_WORD) token.pos = 'X';
    else if (isConstant(token)) token.pos = 'X';
    // "| Lena Koch | SAP |"
    else if (isTitle && /^\p{Lu}{2,}$/u.test(token.text) && !isLoud) token.pos = 'PROPN';
    else if (CAPITAL.test(token.text) && !isTitle)
      token.pos = at === 0 ? firstWord(tokens, names) : capitalised(tokens, at);
    else token.pos = smallWord(tokens, at);
  }
  tokens.forEach((token, at) => {
    if (token.pos !== 'NOUN') return;
    if (isHiddenVerb(tokens, at) || isHiddenPluralVerb(tokens, at) || isSecondVerb(tokens, at)) token.pos = 'VERB';
  });
  return tokens;
}

/** "Maria do Carmo", "Frankfurt am Main", but not "I am Anna" */
const isParticle = (tokens: readonly Token[], at: number) =>
  PARTICLE.test(tokens[at]!.text) &&
  [at - 1, at + 1].every((beside) => /^\p{Lu}\p{Ll}/u.test(tokens[beside]?.text ?? '')) &&
  /^(VERB|AUX|NOUN)$/.test(tokens[at]!.pos);

/** A heading in capitals: there, a capital letter shows no name. */
function inCapitals(tokens: readonly Token[]): boolean {
  // "Apple CEO Tim Cook visited Shanghai." is a sentence.
  if (
    /^[.?!]$/.test(tokens.at(-1)?.text ?? '') &&
    tokens.some(({ text, pos }) => VERBAL.test(pos) && /^\p{Ll}/u.test(text))
  )
    return false;
  const words = tokens.filter(({ text }) => /^\p{L}/u.test(text));
  return words.length > 3 && words.filter(({ text }) => CAPITAL.test(text)).length > 0.8 * words.length;
}

/** `SECRET`, `NAMES`: a common word in capitals. Short ones (`US`, `AID`) and unknown ones (`BASF`) are names. */
const isConstant = ({ text }: Token) =>
  /^[A-Z]{4,}$/.test(text) && /^(NOUN|VERB|ADJ|ADV|DET|ADP)$/.test(usualTag(text)) && !isKnownOrganization(text);

/** The first word has a capital letter anyway: "Shares in", "Captain Aas", "Rubber barons" begin with common words. */
function firstWord(tokens: readonly Token[], names: ReadonlySet<string>): string {
  const [{ text, pos }, next] = tokens as [Token, Token | undefined];
  // "Managing Director of Acme" is what somebody is.
  const isTitle = TITLE_WORD.test(text) && TITLE_END.test(next?.text ?? '') && CAPITAL.test(next!.text);
  if (isTitle && !isOffice(tokens, 0)) return 'PROPN';
  // "Doctors Without Borders"
  const beginsName = next !== undefined && CAPITAL.test(next.text) && usualTag(next.text) === 'ADP';
  const isKnownName =
    names.has(text) ||
    /^\p{Lu}{2,}$/u.test(text) ||
    beginsName ||
    (next !== undefined && PARTICLE.test(next.text) && !/^(the|do|am|upon)$/.test(next.text));
  if (isKnownName && /^(NOUN|VERB|ADJ|X)$/.test(pos)) return 'PROPN';
  // "Oracle bought Sun": a common noun would have an article.
  if (pos === 'NOUN' && next?.pos === 'VERB' && needsActor(next.lemma) && !isPlural(text)) return 'PROPN';
  if (pos !== 'PROPN' || isKnownName || !next || !/^\p{Lu}\p{Ll}+$/u.test(text)) return pos;
  const usual = usualTag(text);
  const isCommon = /^(NOUN|ADJ|ADV)$/.test(usual);
  if (next.pos === 'PROPN') return isRole(text) || /^(rival|former|unlike|current)$/i.test(text) ? 'NOUN' : pos;
  if (/^(NOUN|ADJ)$/.test(next.pos) && !CAPITAL.test(next.text)) return isCommon && !canBeVerb(next.text) ? usual : pos;
  return (isCommon || usual === '') && isPlural(text) ? 'NOUN' : isRole(text) && isCommon ? 'NOUN' : pos;
}

/** "William, Duke of Normandy", "Julia Steiner, Head of Sales" */
function isOffice(tokens: readonly Token[], at: number): boolean {
  const { text } = tokens[at]!;
  // "Prime Minister of", "Vice President of"
  if (TITLE_WORD.test(text) && TITLE_END.test(tokens[at + 1]?.text ?? '')) return tokens[at + 2]?.text === 'of';
  return tokens[at + 1]?.text === 'of' && OFFICE.test(text);
}

/** "Elizabeth I was", "Queen Isabella I and", but not "In Paris I was" */
function isNumeral(tokens: readonly Token[], at: number): boolean {
  const start = tokens.findLastIndex(({ pos }, index) => index < at && pos !== 'PROPN');
  if (start === at - 1) return false;
  return !/^(VERB|AUX|ADV)$/.test(tokens[at + 1]?.pos ?? '') || start === -1;
}

/** In the middle of a sentence, a capital letter shows a name: "SAP", "Elgin Watch". */
function capitalised(tokens: readonly Token[], at: number): string {
  const { text, pos } = tokens[at]!;
  const before = tokens[at - 1]!;
  if (text === 'I') return isNumeral(tokens, at) ? 'PROPN' : pos;
  if (/^C[A-Z]O$/.test(text) && isRole(text)) return 'NOUN';
  if (isOffice(tokens, at) && before.pos !== 'PROPN' && before.text !== 'The') return 'NOUN';
  const isPartOfName = pos === 'DET' && text !== 'The' && tokens[at + 1]?.pos === 'PROPN';
  // "the Thirty Years' War"
  const isNumberOfName = pos === 'NUM' && /^\p{Lu}\p{Ll}/u.test(text) && CAPITAL.test(tokens[at + 1]?.text ?? '');
  if (isPartOfName || isNumberOfName) return 'PROPN';
  // "Helsinki-based"
  const ending = /-(\p{Ll}+)$/u.exec(text)?.[1];
  const next = tokens[at + 1];
  // "Kim Jong-un", "Ban Ki-moon visited"
  const isPartOfPerson =
    before.pos === 'PROPN' && (!next || !/^(NOUN|ADJ|PROPN)$/.test(next.pos) || canBeVerb(next.text));
  if (ending !== undefined && !isPartOfPerson && usualTag(ending) !== '') return pos;
  const opensQuote = /^["“”‘'(:]$/.test(before.text) || /^(PRON|DET|NUM)$/.test(pos) || text.length < 2;
  return opensQuote || (pos === 'ADJ' && before.pos !== 'PROPN' && tokens[at + 1]?.pos !== 'PROPN') ? pos : 'PROPN';
}

function smallWord(tokens: readonly Token[], at: number): string {
  const { text, pos, lemma } = tokens[at]!;
  const [before, next] = [tokens[at - 1], tokens[at + 1]];
  if (!before) return pos;
  // "the Palme d'Or"
  if (before.pos === 'PROPN' && /^\p{Ll}{1,4}['’]\p{Lu}/u.test(text)) return 'PROPN';
  // "suppliers including Acme"
  if (/^(including|regarding|concerning)$/.test(text) && before.pos !== 'AUX') return 'ADP';
  // "on floating islands"
  if (pos === 'VERB' && /ing$/.test(text) && /^(on|at|near|around|across|over|between)$/.test(before.text))
    return next?.pos === 'NOUN' && next.text !== next.lemma ? 'ADJ' : pos;
  const isAfterArticle = ARTICLE.test(before.text);
  const afterModal = MODAL.test(before.text) || (before.pos === 'ADV' && MODAL.test(tokens[at - 2]?.text ?? ''));
  if (afterModal && /^(ADJ|NOUN)$/.test(pos)) return 'VERB';
  if (pos === 'ADV' && isAfterArticle && next && /^(NOUN|ADJ)$/.test(next.pos)) return 'ADJ';
  // "stopped accepting cards", "RFC 8446, which Eric Rescorla edited,"
  if (pos === 'ADJ' && /ing$/.test(text) && /^(stop|start|begin|keep|continue|avoid)$/.test(before.lemma))
    return 'VERB';
  if (pos === 'ADJ' && /ed$/.test(text) && before.pos === 'PROPN') {
    // "Frida Kahlo married Diego Rivera"
    const isOnlyVerb = /^(PROPN|DET|PRON|ADP)$/.test(next?.pos ?? '') && !hasVerb(tokens, at);
    if (next?.pos === 'PUNCT' || isOnlyVerb) return 'VERB';
  }
  // "might have married Tom"
  if (pos === 'ADJ' && /ed$/.test(text) && before.pos === 'AUX' && before.lemma === 'have' && next?.pos !== 'NOUN')
    return 'VERB';
  // "Guinevere, the daughter of Leodegrance, married Arthur"
  const isAfterAside = before.text === ',' && tokens[0]!.pos === 'PROPN' && !tokens.slice(0, at).some(isVerbal);
  if (pos === 'ADJ' && /ed$/.test(text) && isAfterAside && next?.pos === 'PROPN') return 'VERB';
  // "became part of", "resigned as chief executive"
  if (text === 'part' && next?.text === 'of') return 'NOUN';
  const leadsNoun =
    next && (/^(NOUN|DET|PROPN)$/.test(next.pos) || (next.pos === 'ADJ' && tokens[at + 2]?.pos === 'NOUN'));
  if (text === 'as' && pos === 'ADV' && leadsNoun && /^(VERB|NOUN|PROPN)$/.test(before.pos)) return 'ADP';
  // "software that checks contracts"
  if (pos === 'DET' && text === 'that' && /^(NOUN|PROPN)$/.test(before.pos) && canBeVerb(next?.text ?? ''))
    return 'PRON';
  if (pos !== 'VERB') return pos;
  // "a privately held company"
  const isModified = before.pos === 'ADV' && /^(a|an|the)$/i.test(tokens[at - 2]?.text ?? '');
  if (isModified && next && /^(NOUN|ADJ|PROPN)$/.test(next.pos)) return 'ADJ';
  const isNominal = isAfterArticle || (before.pos === 'ADJ' && ARTICLE.test(tokens[at - 2]?.text ?? ''));
  if (isNominal)
    return next && /^(NOUN|ADJ|PROPN)$/.test(next.pos) && (isAfterArticle || text !== lemma) ? 'ADJ' : 'NOUN';
  return pos;
}

/** "The Aldora rises in", "which supplies it", "stores each table": a verb that looks like a plural. */
function isHiddenVerb(tokens: readonly Token[], at: number): boolean {
  const [before, next] = [tokens[at - 1], tokens[at + 1]];
  if (!before || /^\p{Lu}/u.test(tokens[at]!.text)) return false;
  // "Supercell, which Tencent controls, earned"
  const nearby = tokens.slice(Math.max(0, at - 4), at);
  const isRelativeEnd = /^[,.]$/.test(next?.text ?? '') && nearby.some(({ text }) => /^(which|that|whom)$/.test(text));
  const isObject =
    (before.pos === 'PROPN' || before.pos === 'CCONJ' || POINTS_BACK.test(before.text)) &&
    next?.pos === 'NOUN' &&
    next.lemma !== next.text;
  // "Its director, Dana Levi, lives in": a sentence without another verb.
  const isOnlyVerb = before.text === ',' && !tokens.some(({ pos }) => pos === 'VERB' || pos === 'AUX');
  const isLast = next?.text === '.' && tokens[0]!.pos === 'DET' && isSingular(before);
  const mayFollow =
    before.pos === 'PROPN' ||
    before.pos === 'CCONJ' ||
    POINTS_BACK.test(before.text) ||
    isSingular(before) ||
    isOnlyVerb;
  // "Orbis designs and builds satellites"
  const isFirstOfTwo =
    next?.pos === 'CCONJ' &&
    (before.pos === 'PROPN' || (isSingular(before) && ARTICLE.test(tokens[at - 2]?.text ?? ''))) &&
    /^(DET|ADJ|NOUN|PROPN|ADP)$/.test(tokens[at + 3]?.pos ?? '') &&
    canBeVerb(tokens[at + 2]?.text ?? '');
  const mayLead =
    next !== undefined &&
    (isFirstOfTwo || /^(DET|ADP|PRON|PROPN|NUM|SCONJ|ADJ|ADV)$/.test(next.pos) || next.text === 'to' || isRelativeEnd);
  // "The country exports coffee"
  const isPredicate = isSingular(before) && ARTICLE.test(tokens[at - 2]?.text ?? '') && next?.pos === 'NOUN';
  const fits = isObject || isLast || isPredicate || (mayFollow && mayLead);
  const isBetweenNames = before.pos === 'PROPN' && (next?.pos === 'PROPN' || next?.pos === 'DET');
  if (!fits || !(canBeVerb(tokens[at]!.text) || (isBetweenNames && /[^s]s$/.test(tokens[at]!.text)))) return false;
  // "X rises and flows": the second verb is like the first; "mines and stores": the second noun is like the first.
  if (before.pos === 'CCONJ') {
    const conjunct = tokens[at - 2];
    // "exports coffee and flowers to": a list of objects.
    const mayBeListed = tokens[at - 3]?.pos === 'VERB';
    const isObjectBefore = isSingular(conjunct) && !mayBeListed;
    return conjunct?.pos === 'PROPN' || /^(it|them|him|her)$/.test(conjunct?.text ?? '') || isObjectBefore
      ? !hasVerb(tokens, at) && tokens.slice(0, at).some(({ pos, text }) => VERBAL.test(pos) && text.endsWith('s'))
      : false;
  }
  return !hasVerb(tokens, at);
}

/** "GitHub and Stack Overflow use Redis", "analysts at Barclays doubt that" */
function isHiddenPluralVerb(tokens: readonly Token[], at: number): boolean {
  const [before, next] = [tokens[at - 1], tokens[at + 1]];
  if (!before || !next || !/^(PROPN|DET|SCONJ|PRON|ADP)$/.test(next.pos)) return false;
  // "fishermen call it", "the two countries fear for"
  const isBare =
    before.pos === 'NOUN' &&
    before.text !== before.lemma &&
    (/^(it|him|her|them|the|a)$/.test(next.text) || (next.pos === 'ADP' && isDetermined(tokens, at - 1)));
  if (before.pos !== 'PROPN' && !isBare) return false;
  if (isBare)
    return canBePluralVerb(tokens[at]!.text) && tokens[at]!.text === tokens[at]!.lemma && !hasVerb(tokens, at);
  // "Anna and Tom work for Nestlé.", but not "Shares of Toyota and Panasonic trade in Tokyo"
  if (next.pos === 'ADP' && tokens.some(isVerbal)) return false;
  const subject = tokens.slice(0, at);
  const isPlural = subject.some(({ pos, text, lemma }) => pos === 'CCONJ' || (pos === 'NOUN' && text !== lemma));
  return isPlural && canBePluralVerb(tokens[at]!.text) && !hasVerb(tokens, at);
}

/** "will reach Jupiter and study Europa", "will call the hotel and book rooms", "rises in Germany, flows through" */
function isSecondVerb(tokens: readonly Token[], at: number): boolean {
  const [conjunct, before, token, next] = [tokens[at - 2], tokens[at - 1], tokens[at]!, tokens[at + 1]];
  if (!conjunct || !before || !next || CAPITAL.test(token.text)) return false;
  // "manufactures and markets medicines"
  if (before.pos === 'CCONJ' && conjunct.pos === 'VERB' && /[^s]s$/.test(conjunct.text) && canBeVerb(token.text))
    return true;
  // "rises in Germany, forms the border with"
  if (before.text === ',' && (/^(ADP|DET)$/.test(next.pos) || next.text === 'part'))
    return canBeVerb(token.text) && tokens.slice(0, at).some(({ pos, text }) => pos === 'VERB' && /[^s]s$/.test(text));
  const isBase = token.text === token.lemma && canBePluralVerb(token.text);
  if (before.pos !== 'CCONJ' || !isBase || !tokens.slice(0, at).some(({ text }) => MODAL.test(text))) return false;
  const isDetermined = ARTICLE.test(tokens[at - 3]?.text ?? '');
  return /^(PROPN|DET|PRON)$/.test(next.pos) || (isDetermined && next.pos === 'NOUN' && next.text !== next.lemma);
}

/** Whether the clause around a word has a verb. */
function hasVerb(tokens: readonly Token[], at: number): boolean {
  const start = tokens.findLastIndex((token, index) => index < at && isBoundary(token));
  const end = tokens.findIndex((token, index) => index > at && isBoundary(token));
  const clause = tokens.slice(start + 1, end === -1 ? tokens.length : end);
  return clause.some(({ pos }, index) => /^(VERB|AUX)$/.test(pos) && clause[index - 1]?.text !== 'to');
}

/** "the two countries" */
const isDetermined = (tokens: readonly Token[], at: number) =>
  ARTICLE.test(tokens[tokens[at - 1]?.pos === 'NUM' ? at - 2 : at - 1]?.text ?? '');

const isBoundary = ({ pos, text }: Token) =>
  pos === 'CCONJ' || /^[,;:]$/.test(text) || /^(which|who|that|where|when|while|because|after|before)$/i.test(text);

const isSingular = (token: Token | undefined) => token?.pos === 'NOUN' && !token.text.endsWith('s');
