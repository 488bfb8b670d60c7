/** Names that a sentence joins: "Toyota and Panasonic", "Geim, Novoselov and Kim". */
import type { Noun, Phrase } from './phrases.js';

/** @returns lists of two names or more, without dates */
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
