/** Proper names: where one ends, what belongs to it, and its type. */
import type { EntityType } from '../../domain/content/graph.js';
import { classifyName, HONORIFIC, LEGAL_FORM, ORGANIZATION, TITLE_END, TITLE_WORD } from './classify-name.js';
import type { Mention } from './mention.js';
import type { Token } from './tagger.js';
import { isDemonym, isKnownOrganization, isPlural, needsActor, usualTag } from './vocabulary.js';

const MAX_WORDS = 6;
/** "World's Fair" */
const EVENT = /^(fair|cup|day|championships?|open|games)$/i;
const DAY_OR_MONTH =
  /^(january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday)$/i;

/** Words between the names of a person or a place: "Frankfurt am Main". */
export const PARTICLE =
  /^(de|van|von|vom|zu|der|den|ter|la|le|las|los|del|della|di|da|do|dos|du|des|the|el|al|ibn|bin|am|upon|sur|av|af)$/;

/** A proper noun with a capital letter; the tagger alone mistakes some words for names. */
export const isName = (token: Token | undefined) =>
  token?.pos === 'PROPN' && /^(\p{Ll}{1,4}['’])?\p{Lu}/u.test(token.text);

/** "a Token", "each Client": an article shows a common noun. */
export const isCommon = (tokens: readonly Token[], at: number) =>
  /^(a|an|each|every|any|no)$/i.test(tokens[at - 1]?.text ?? '') &&
  !isName(tokens[at + 1]) &&
  usualTag(tokens[at]!.text) === 'NOUN';

/** "Swedish" alone is no entity, and neither is a name that is noise. */
export const isEntity = ({ name, type }: Mention) => name !== '' && type !== 'concept';

/** Reads the name that starts at a token. @param startsDate whether a date starts at another one */
export function readName(
  tokens: readonly Token[],
  start: number,
  startsDate: (index: number) => boolean,
): { mention: Mention; to: number } {
  let to = start;
  while (to - start < MAX_WORDS) {
    const next = tokens[to + 1];
    // "Apple Inc. President Tom Reed": a legal form ends its name.
    if (!next || startsDate(to + 1) || (to > start && /^(corp|inc|ltd|llc)\.$/i.test(tokens[to]!.text))) break;
    const goesOn = isName(tokens[to + 2]) && !startsDate(to + 2);
    // "On Monday the Commission"
    const joins =
      goesOn &&
      !DAY_OR_MONTH.test(tokens[to]!.text) &&
      (next.text !== 'of' || mayHaveOf(tokens, start, to)) &&
      (next.text === 'of' || next.text === '&' || PARTICLE.test(next.text));
    // "Ursula von der Leyen", "Robin van den Berg"
    const second = tokens[to + 2]?.text ?? '';
    const joinsTwice =
      PARTICLE.test(next.text) && PARTICLE.test(second) && isName(tokens[to + 3]) && !startsDate(to + 3);
    const isPrize = next.text === 'in' && goesOn && /^(prize|award|medal)$/i.test(tokens[to]!.text);
    const owns =
      /^['’]s$/.test(next.text) &&
      goesOn &&
      (ORGANIZATION.test(tokens[to + 2]!.text) || EVENT.test(tokens[to + 2]!.text));
    // "the Thirty Years' War"
    const isPlural = /^['’]$/.test(next.text) && next.joined && goesOn && isCommonPlural(tokens[to]!.text);
    if (isName(next) || (LEGAL_FORM.test(next.text) && /^[A-Z]/.test(next.text))) to += 1;
    else if (joins || owns || isPrize || isPlural) to += 2;
    else if (joinsTwice) to += 3;
    else break;
  }
  const number = tokens[to + 1];
  const isNumbered =
    number &&
    /^\d+(\.\d+)*$/.test(number.text) &&
    !startsDate(to + 1) &&
    !/^(NOUN|NUM|SYM)$/.test(tokens[to + 2]?.pos ?? '');
  if (isNumbered) to += 1;
  const whole = textOf(tokens, start, to);
  const from = isNamedAfterPerson(whole) ? start : afterTitle(tokens, start, to);
  const name = textOf(tokens, from, to);
  const type =
    !name.includes(' ') && isDemonym(name)
      ? 'concept'
      : typeOf(name, isHolding(tokens, from - 2) ? undefined : tokens[from - 1]?.text);
  const doubtful = start === 0 && from === to && type === 'name' && !showsName(tokens, to);
  const title = from > start ? { title: inSmallLetters(textOf(tokens, start, from - 1)) } : {};
  const hasArticle = /^the$/i.test(tokens[start - 1]?.text ?? '');
  return { mention: { name: isNoise(name) ? '' : name, type, from, doubtful, hasArticle, ...title }, to };
}

/** "US President": an abbreviation keeps its capital letters. */
const inSmallLetters = (title: string) =>
  title.replace(/\S+/g, (word) => (/^\p{Lu}{2,}$/u.test(word) ? word : word.toLowerCase()));

/** "a stake in Engie", "invested in Klarna": no place. */
const isHolding = (tokens: readonly Token[], at: number) =>
  /^(stake|share|shareholder|shareholding|holding|investor|investment|invest|interest|majority|minority)$/.test(
    tokens[at]?.lemma ?? '',
  );

/** "workers", "years": with an apostrophe, a part of a name rather than an owner. */
const isCommonPlural = (word: string) => usualTag(word) === 'NOUN' && isPlural(word);

/** Whether the first word of a sentence is a name, although a capital letter alone does not show that there. */
function showsName(tokens: readonly Token[], at: number): boolean {
  const { text } = tokens[at]!;
  const next = tokens[at + 1];
  const actsAlone = next?.pos === 'VERB' && needsActor(next.lemma) && !isPlural(text);
  return usualTag(text) === '' || /\p{Ll}\p{Lu}/u.test(text) || isKnownOrganization(text) || actsAlone;
}

/** "the Rosetta Stone": no person, whatever its words are. */
function typeOf(name: string, before: string | undefined): EntityType {
  const type = classifyName(name, before);
  return type === 'person' && /^the$/i.test(before ?? '') ? 'name' : type;
}

/** "Dr. Keller", "Chief Executive Bruch", "Transport Minister Albert Rösti": the name begins after the title. */
function afterTitle(tokens: readonly Token[], start: number, to: number): number {
  let from = start;
  for (let at = start; at < to; at++) {
    const { text } = tokens[at]!;
    const isTitle = HONORIFIC.test(text) || (TITLE_END.test(text) && at - start <= 2);
    if (isTitle) from = at + 1;
    else if (!TITLE_WORD.test(text) && !TITLE_END.test(tokens[at + 1]!.text)) break;
  }
  return from;
}

/** "St. Olav's Hospital", "King's College", "Prince Edward Island": what seems to be a title belongs to the name. */
const isNamedAfterPerson = (name: string) =>
  /^\p{Lu}/u.test(name) &&
  /^(place|organization)$/.test(classifyName(name, undefined)) &&
  !/^(mr|mrs|ms|dr|prof)\b/i.test(name);

/** "Bank of England", but not "Ruth Meyer of Kepler Bank". */
function mayHaveOf(tokens: readonly Token[], from: number, to: number): boolean {
  const type = classifyName(textOf(tokens, from, to), undefined);
  const isTheName = type === 'name' && /^the$/i.test(tokens[from - 1]?.text ?? '');
  // "Joan of Arc", "Märtha of Sweden"
  return type === 'organization' || isTheName || from === to;
}

function isNoise(name: string): boolean {
  return (
    name.length < 2 ||
    name.length > 80 ||
    !/\p{L}{2}/u.test(name) ||
    DAY_OR_MONTH.test(name) ||
    /^\p{Lu}\p{Ll}$|^(UTC|GMT|CET|CEST|EST|PST|AM|PM|[KMGT]i?B)$/u.test(name) ||
    /https?:|[@{}<>|\\]/.test(name)
  );
}

export function textOf(tokens: readonly Token[], from: number, to: number): string {
  return tokens
    .slice(from, to + 1)
    .map(({ text, joined }, index) => (index === 0 || joined ? text : ` ${text}`))
    .join('')
    .replace(/[.,]$/, '')
    .trim();
}
