/** The types of names. */
import nlp from 'compromise/two';
import type { EntityType } from '../../domain/content/graph.js';
import { cached, isRole } from './vocabulary.js';

export const HONORIFIC =
  /^(mr|mrs|ms|miss|dr|prof|professor|sir|dame|lord|lady|justice|king|queen|prince|princess|pope|captain|capt|president|judge|rev|inspector|detective|sergeant|colonel|councillor|councilor|senator|minister|governor|mayor|chancellor|ambassador|analyst|engineer)\.?$/i;
/** Words of "Chief Executive Officer" or "Prime Minister" in front of a name, and those that end such a title. */
export const TITLE_WORD =
  /^(chief|executive|financial|operating|technology|officer|prime|vice|managing|deputy|director|chairman|chairwoman|secretary|minister|president|foreign|finance|senior|general)$/i;
/** Titles of an office or a rank: "Duke of Normandy" is what a person is, not a name. */
export const OFFICE =
  /^(king|queen|duke|duchess|earl|count|countess|emperor|empress|prince|princess|bishop|archbishop|president|head|director|minister|secretary|governor|mayor|chancellor|chief|professor|dean|chair|chairman|chairwoman|ambassador|vice-president)$/i;
export const TITLE_END = /^(executive|officer|director|chairman|chairwoman|secretary|minister|president)$/i;
export const LEGAL_FORM =
  /^(as|asa|ab|sa|se|gmbh|ag|ltd|limited|llc|inc|corp|plc|bv|nv|oy|oyj|aps|kg|co|spa|srl|pty)\.?$/i;
export const ORGANIZATION =
  /\b(university|institute|college|school|bank|agency|council|ministry|department|committee|commission|association|foundation|company|corporation|group|holdings?|union|society|authority|court|laborator(y|ies)|labs?|hospital|museum|partners|systems|technologies|industries|energy|airlines?|motors|party|board|office|service|trust|fund|foods|robotics|software|instruments|chemicals|consulting|capital|pharma|pharmaceuticals|logistics|shipping|airways|electronics|entertainment|films|materials|mills|minerals|mining|pictures|resources|steel|textiles|therapeutics|biosciences|semiconductors?|studios|records|publishing|brewery|club|federation|league|alliance|consortium|parliament|senate|police|navy|army|church|gallery|solutions|networks|ventures|analytics|aerospace|petroleum|estates|surveyors|railways?|works|lines|health|insurance|media|telecom|clinic|orchestra|chamber|cooperative|newspapers?)\b/i;
const PLACE =
  /\b(fjord|river|lake|mount|mountains?|island|islands|bay|sea|ocean|valley|street|road|avenue|square|park|county|province|district|harbou?r|port|city|town|village|coast|peninsula|strait|beach|forest|desert|bridge|airport|station|alps|hills|falls|glacier|basin|canal|gulf)$/i;
const PLACE_START = /^(lake|mount|cape|gulf|port|fort|isle|river|bay) /i;

/**
 * Determines the type of a proper name from its words and the word before it.
 * @param name without article and honorific
 */
export function classifyName(name: string, before: string | undefined): EntityType {
  if (before !== undefined && HONORIFIC.test(before)) return 'person';
  // "Ticket 4711" and "Ticket 4712" are of one type. The word lists know "Motel 6" and "U2", but no longer numbers.
  const type = classify(name.replace(/\d{3,}/g, '000'));
  // A name after "in" is a place, unless the word lists show another type.
  return type === 'name' && before !== undefined && /^(in|near)$/i.test(before) ? 'place' : type;
}

const classify = cached((name: string): EntityType => {
  const words = name.split(' ');
  if (words.length > 1 && LEGAL_FORM.test(words.at(-1)!)) return 'organization';
  if (PLACE.test(name) || PLACE_START.test(name)) return 'place';
  // "Senior Software Engineer" is what somebody is.
  if (ORGANIZATION.test(name)) return isRole(words.at(-1)!) ? 'concept' : 'organization';
  const doc = nlp(name);
  if (doc.has('#Organization')) return 'organization';
  if (doc.has(words.length > 1 ? '^(#City|#Country|#Region)+$' : '^#Place$')) return 'place';
  // A single family name is often that of a place or a firm too.
  if (doc.has('^#FirstName') || (words.length > 1 && doc.has('^#Person+$'))) return 'person';
  return 'name';
});
