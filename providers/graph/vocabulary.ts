/** What the word lists of both libraries know of a single word. */
import nlp from 'compromise/two';
import { lookUp } from './tagger.js';

const CACHE_LIMIT = 20_000;

/** Each look-up takes up to a millisecond, and texts repeat their words and names. */
export function cached<T>(look: (word: string) => T): (word: string) => T {
  const cache = new Map<string, T>();
  return (word) => {
    const known = cache.get(word);
    if (known !== undefined) return known;
    if (cache.size >= CACHE_LIMIT) cache.clear();
    const value = look(word);
    cache.set(word, value);
    return value;
  };
}

const listed = cached((word: string) => nlp(word).docs[0]?.[0]?.tags ?? new Set<string>());

/** The part of speech of a word that stands alone in small letters; empty when no word list has it. */
export const usualTag = (word: string): string => known(word.toLowerCase()).pos;
const known = cached(lookUp);

/** "reports", "stores": as a verb of the third person, whatever else the word may be. */
export const canBeVerb = (word: string): boolean =>
  /[^s]s$/.test(word) && (listed(word).has('PresentTense') || canBePluralVerb(known(word).lemma));

/** "use", "doubt": as a verb of a plural. */
export const canBePluralVerb = (word: string): boolean => listed(word).has('Infinitive');

/** "maker", "bank": what it describes is an organisation. */
export const isOrganizationNoun = (noun: string): boolean =>
  /^(company|firm|group|business|corporation|start-up|startup|manufacturer|maker|retailer|airline|bank|carrier|brand|agency|organisation|organization|institute|university|supplier|producer|developer|publisher|operator|utility|insurer|brewery|foundation|charity|association|vendor|builder)$/.test(
    noun,
  );

/** "acquire", "publish": what a company or a person does, and neither coffee nor traffic. */
export const needsActor = (verb: string): boolean =>
  /^(acquire|appoint|buy|deliver|develop|employ|fine|hire|invest|launch|license|maintain|manufacture|operate|own|partner|publish|release|sell|sign|sponsor|sue|supply|unveil)$/.test(
    verb,
  );

/** "NATO", "Visa": a name, although a common word may be written like that. */
export const isKnownOrganization = (word: string): boolean => listed(word).has('Organization');

/** "engineer", "captain": what a person does. */
export const isRole = (noun: string): boolean =>
  !isOrganizationNoun(noun) && (KINSHIP.test(noun) || listed(noun.toLowerCase()).has('Actor'));
const KINSHIP =
  /^(mother|father|wife|husband|son|daughter|brother|sister|cousin|uncle|aunt|nephew|niece|friend|colleague|founder|cofounder|co-founder|executive|chairman|chairwoman|chair|president|ceo|cfo|cto|chief|leader|member|head|spokesman|spokeswoman|spokesperson|dealer|partner|student|minister|mayor|secretary|rival|deputy|widow|heir|successor|predecessor|engineer|coach|trainer|prosecutor|nurse|king|queen|prince|princess|duke|duchess|earl|emperor|empress|bishop|chancellor|governor|ambassador|professor|inspector|senator|councillor)$/i;

/** "year", "day" */
export const isTime = (noun: string): boolean => /^(time|moment)$/.test(noun) || listed(noun).has('Duration');

export function isPlural(word: string): boolean {
  const noun = word.toLowerCase();
  const { pos, lemma } = known(noun);
  return pos === '' ? listed(noun).has('Plural') : pos === 'NOUN' && lemma !== noun;
}

/** "Swedish", "Dutch" */
export function isDemonym(word: string): boolean {
  const tags = listed(word);
  return tags.has('Demonym') || (tags.has('Adjective') && /(ish|ese|ian|ean)$/.test(word));
}

export type Gender = 'female' | 'male';

/** @returns the gender that a first name shows */
export function genderOf(firstName: string): Gender | null {
  const tags = listed(firstName);
  if (tags.has('FemaleName') === tags.has('MaleName')) return null;
  return tags.has('FemaleName') ? 'female' : 'male';
}

/** @returns the gender that a form of address shows */
export function genderOfTitle(title: string | undefined): Gender | null {
  if (title === undefined) return null;
  if (/^(mrs|ms|miss|dame|lady|queen|princess)\b/.test(title)) return 'female';
  return /^(mr|sir|lord|king|prince)\b/.test(title) ? 'male' : null;
}

export const isCountry = (name: string): boolean => listed(name).has('Country');
/** A country, or a part of it that is no city. */
export const isRegion = (name: string): boolean => isCountry(name) || listed(name).has('Region');
