/** A noun whose ending takes an "s" before the next noun of a compound, and what follows. */
const FIRST_NOUN = /^(.{2,30}?(?:ung|heit|keit|schaft|ion|tät|tum|ling))s(.{3,40})$/;

/**
 * @returns the nouns of a German compound with a joining "s", as "zahlungseingang" has "zahlung" and "eingang"; none for other
 * words, because compounds without that "s" could only be divided with a dictionary
 */
export function nounsOf(word: string): string[] {
  const [, first, rest] = FIRST_NOUN.exec(word) ?? [];
  return first === undefined || rest === undefined ? [] : [first, rest, ...nounsOf(rest)];
}
