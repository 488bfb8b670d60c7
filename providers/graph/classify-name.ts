import nlp from 'compromise';
import type { EntityType } from '../../domain/content/graph.js';

export const HONORIFIC =
  /^(mr|mrs|ms|miss|dr|prof|professor|sir|dame|lord|lady|captain|capt|president|judge|rev|st)\.?$/i;
export const LEGAL_FORM =
  /^(as|asa|ab|sa|se|gmbh|ag|ltd|limited|llc|inc|corp|plc|bv|nv|oy|oyj|aps|kg|co|spa|srl|pty)\.?$/i;
const ORGANIZATION =
  /\b(university|institute|college|school|bank|agency|council|ministry|department|committee|commission|association|foundation|company|corporation|group|holdings?|union|society|authority|court|laborator(y|ies)|labs?|hospital|museum|partners|systems|technologies|industries|energy|airlines?|motors|party|board|office|service|trust|fund)\b/i;
const PLACE =
  /\b(fjord|river|lake|mount|mountains?|island|islands|bay|sea|ocean|valley|street|road|avenue|square|park|county|province|district|harbou?r|port|city|town|village|coast|peninsula|strait|beach|forest|desert|bridge|airport|station)$/i;

/** Classifying takes half a millisecond, and a text repeats its names. */
const cache = new Map<string, EntityType>();
const CACHE_LIMIT = 20_000;

/**
 * Determines the type of a proper name from its words and the word before it.
 * @param name without article and honorific
 */
export function classifyName(name: string, before: string | undefined): EntityType {
  if (before !== undefined && HONORIFIC.test(before)) return 'person';
  const type = classify(name);
  // A name after "in" is a place, unless the word lists show another type.
  return type === 'name' && before !== undefined && /^(in|near)$/i.test(before) ? 'place' : type;
}

function classify(name: string): EntityType {
  const cached = cache.get(name);
  if (cached) return cached;
  if (cache.size >= CACHE_LIMIT) cache.clear();
  const type = classifyByWords(name);
  cache.set(name, type);
  return type;
}

function classifyByWords(name: string): EntityType {
  const words = name.split(' ');
  if (words.length > 1 && LEGAL_FORM.test(words.at(-1)!)) return 'organization';
  if (PLACE.test(name)) return 'place';
  if (ORGANIZATION.test(name)) return 'organization';
  const doc = nlp(name);
  if (doc.has('#Organization')) return 'organization';
  if (doc.has('^#Place+$')) return 'place';
  if (doc.has('^#Person+$') || (words.length > 1 && doc.has('^#FirstName'))) return 'person';
  return 'name';
}
