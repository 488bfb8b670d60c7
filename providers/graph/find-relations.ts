import { CO_OCCURS } from '../../domain/content/graph.js';
import { takeAppositions } from './appositions.js';
import { readClauses } from './clauses.js';
import type { Mention } from './noun-phrases.js';
import { type Noun, readPhrases } from './phrases.js';
import type { Sentence } from './read-sentences.js';
import type { Discourse } from './resolve-references.js';

/** Two entities of a sentence and the words that relate them. */
export interface FoundRelation {
  source: Mention;
  target: Mention;
  relation: string;
}

/** What a sentence names, and what it states of it. */
export interface SentenceGraph {
  /** In reading order. */
  mentions: Mention[];
  relations: FoundRelation[];
}

/** Reads a sentence. Neighbouring names that it does not relate co-occur. */
export function readSentence(sentence: Sentence, discourse: Discourse): SentenceGraph {
  const all = readPhrases(sentence);
  const nouns = all.filter((phrase): phrase is Noun => phrase.kind === 'noun');
  const named = nouns.map(({ entity }) => entity);
  const { phrases, descriptions } = takeAppositions(all);
  const clauses = readClauses(phrases);
  discourse.readSentence(nouns, clauses.roles, descriptions);
  const isQuestion = sentence.text.trimEnd().endsWith('?');
  const statements = [...(isQuestion ? [] : clauses.statements), ...descriptions.flatMap((each) => each.statements)];
  const relations = statements.flatMap(({ source, relation, target }) =>
    source.entity && target.entity ? [{ source: source.entity, relation, target: target.entity }] : [],
  );
  const mentions = nouns
    .flatMap((noun, index) => {
      // A reference is no mention: the sentence does not name what it means.
      const own = noun.entity === named[index] ? noun.entity : null;
      return [own, noun.title, ...noun.others].filter((mention) => mention !== null);
    })
    .sort((a, b) => a.from - b.from);
  return { mentions, relations: [...relations, ...coOccurrences(mentions, relations)] };
}

function coOccurrences(mentions: readonly Mention[], relations: readonly FoundRelation[]): FoundRelation[] {
  const names = mentions.filter(({ type }) => type !== 'concept' && type !== 'date');
  const related = new Set(
    relations.flatMap(({ source, target }) => [`${source.name}|${target.name}`, `${target.name}|${source.name}`]),
  );
  return names.slice(1).flatMap((target, position) => {
    const source = names[position]!;
    return related.has(`${source.name}|${target.name}`) ? [] : [{ source, target, relation: CO_OCCURS }];
  });
}
