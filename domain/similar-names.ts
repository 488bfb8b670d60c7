/** Names that resemble each other, to say what may have been meant. */

/** Longest distance at which an unknown name counts as a misspelled one. */
const MAX_TYPOS = 2;
/** Characters of a name that are compared: names from outside may be long. */
const MAX_COMPARED = 64;

/** @returns whether one name may be the other with a spelling mistake */
export function resembles(name: string, other: string): boolean {
  return distance(name, other) <= MAX_TYPOS;
}

/** @returns the name that resembles another most: a spelling of it, or one that contains it; undefined without names */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const given = name.slice(0, MAX_COMPARED).toLowerCase();
  const cost = (other: string) => {
    const typos = distance(given, other.toLowerCase());
    return typos > MAX_TYPOS && (other.includes(given) || given.includes(other)) ? MAX_TYPOS : typos;
  };
  return known.map((other) => ({ other, cost: cost(other) })).sort((a, b) => a.cost - b.cost)[0]?.other;
}

/** Insertions, deletions and replacements that turn one word into another (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      next.push(Math.min(next[j]! + 1, row[j + 1]! + 1, row[j]! + (letter === b[j] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
