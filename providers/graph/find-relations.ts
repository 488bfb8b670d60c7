import { CO_OCCURS } from '../../domain/content/graph.js';
import type { Mention } from './find-mentions.js';
import type { Token } from './read-sentences.js';

/** Two mentions of a sentence, by their index, and the words that relate them. */
export interface FoundRelation {
  source: number;
  target: number;
  relation: string;
}

const VERB_WORDS = /^(VERB|AUX)$/;

/**
 * Relates the mentions of a sentence: by subject, verb and object when there is a verb between two mentions, else
 * neighbouring names co-occur.
 * @param mentions in reading order
 */
export function findRelations(tokens: readonly Token[], mentions: readonly Mention[]): FoundRelation[] {
  const found: FoundRelation[] = [];
  const startsAt = new Map(mentions.map((mention, index) => [mention.from, index]));
  let subjects: number[] = [];
  let latest: number[] = [];
  let verb = '';
  /** The verb with the preposition of its latest object. */
  let phrase = '';
  for (let at = 0; at < tokens.length; at++) {
    const index = startsAt.get(at);
    if (index !== undefined) {
      if (verb !== '') {
        // "in Bergen, Norway", "by Ada and Bo": all mentions of a list have the same relation.
        const listed = phrase !== '' && isList(tokens, mentions, latest, at);
        phrase = listed ? phrase : withPreposition(verb, tokens[before(tokens, at)]);
        for (const subject of subjects) found.push({ source: subject, target: index, relation: phrase });
      }
      // "A and B signed": both are subjects.
      latest = isList(tokens, mentions, latest, at) ? [...latest, index] : [index];
      at = mentions[index]!.to;
    } else if (VERB_WORDS.test(tokens[at]!.pos)) {
      const clause = /^(which|who|that)$/i.test(tokens[at - 1]?.text ?? '');
      if (verb === '' || clause) subjects = latest;
      const end = verbEnd(tokens, at);
      verb = tokens
        .slice(at, end + 1)
        .filter((token) => token.pos !== 'ADV')
        .map((token) => token.text.toLowerCase())
        .join(' ');
      phrase = '';
      at = end;
    } else if (tokens[at]!.text === ';') {
      verb = '';
      latest = [];
    }
  }
  return [...found, ...coOccurrences(mentions, found)];
}

/** "was built", "has not agreed to finance": one verb phrase. */
function verbEnd(tokens: readonly Token[], start: number): number {
  let end = start;
  for (let at = start + 1; at < tokens.length; at++) {
    const { pos, text } = tokens[at]!;
    if (VERB_WORDS.test(pos)) end = at;
    else if (pos !== 'ADV' && !(pos === 'PART' && /^(to|not|n't)$/i.test(text))) break;
  }
  return end;
}

/** The preposition before the object belongs to the relation: "works" and "for". */
function withPreposition(verb: string, token: Token | undefined): string {
  return token?.pos === 'ADP' ? `${verb} ${token.text.toLowerCase()}` : verb;
}

/** The index of the token before a mention, without articles and titles. */
function before(tokens: readonly Token[], at: number): number {
  let index = at - 1;
  while (index > 0 && (tokens[index]!.pos === 'DET' || /^(dr|mr|mrs|ms|prof)\.?$/i.test(tokens[index]!.text))) index--;
  return index;
}

function isList(tokens: readonly Token[], mentions: readonly Mention[], latest: number[], at: number): boolean {
  const last = latest.at(-1);
  if (last === undefined) return false;
  const between = tokens.slice(mentions[last]!.to + 1, at);
  return between.length > 0 && between.length <= 3 && between.every((token) => /^(CCONJ|PUNCT|DET)$/.test(token.pos));
}

function coOccurrences(mentions: readonly Mention[], found: readonly FoundRelation[]): FoundRelation[] {
  const names = mentions.flatMap((mention, index) =>
    mention.type === 'concept' || mention.type === 'date' ? [] : [index],
  );
  const related = new Set(found.flatMap(({ source, target }) => [`${source} ${target}`, `${target} ${source}`]));
  return names.slice(1).flatMap((target, position) => {
    const source = names[position]!;
    return related.has(`${source} ${target}`) ? [] : [{ source, target, relation: CO_OCCURS }];
  });
}
