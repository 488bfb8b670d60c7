/** Who and what takes part in the latest sentences, and which of them a reference means. */
import type { Role } from './clause.js';
import type { KnownNames } from './known-names.js';
import type { Mention } from './mention.js';

const SENTENCES_BACK = 3;

/** What a sentence was about. */
export interface Participant {
  /** Null for a bare noun, which a pronoun may refer to as well. */
  entity: Mention | null;
  /** Several names that are joined, which a plural may refer to. */
  group: readonly Mention[] | null;
  role: Role['role'];
  clause: number;
  isPlural: boolean;
  /** It is where something happens. */
  isPlace: boolean;
  /** Said of a subject that follows, which it is not: "Born to Joseph Sankara, he". */
  isEarly: boolean;
}

export class Participants {
  private readonly names: KnownNames;
  /** The latest sentence first. */
  private sentences: Participant[][] = [];
  private current: Participant[] = [];

  constructor(names: KnownNames) {
    this.names = names;
  }

  add(participant: Partial<Participant> & Pick<Participant, 'role' | 'clause'>): void {
    this.current.push({ entity: null, group: null, isPlural: false, isPlace: false, isEarly: false, ...participant });
  }

  endSentence(): void {
    for (const participant of this.current) participant.isEarly = false;
    this.sentences.unshift(this.current);
    this.sentences.length = Math.min(this.sentences.length, SENTENCES_BACK);
    this.current = [];
  }

  /** The participant that was added last, in this sentence. */
  get last(): Participant | undefined {
    return this.current.at(-1);
  }

  isSubjectHere(entity: Mention): boolean {
    return this.current.some(({ entity: other, role }) => other === entity && role === 'subject');
  }

  someSubject(fits: (entity: Mention) => boolean): boolean {
    return [this.current, ...this.sentences].some((sentence) =>
      sentence.some(({ entity, role }) => entity !== null && role === 'subject' && fits(entity)),
    );
  }

  /** @returns the latest joined names that all fit */
  latestGroup(fits: (mention: Mention) => boolean): readonly Mention[] | undefined {
    for (const sentence of [this.current, ...this.sentences])
      for (const { group } of sentence.toReversed()) if (group?.every(fits)) return group;
    return undefined;
  }

  /** What a plural means: names that are joined, or a plural; the subject before the others. */
  findPlural(clause: number, mayBeSubject: boolean): readonly Mention[] | undefined {
    for (const [back, sentence] of [this.before(clause, mayBeSubject), ...this.sentences].entries()) {
      const plurals = sentence.filter(({ isPlural }) => isPlural);
      const subjects = plurals.filter(({ role }) => role === 'subject');
      // Who acts is not what was acted on: "films" do not show themselves.
      const others = mayBeSubject ? plurals.filter(({ group }) => group !== null && back <= 1) : plurals;
      const [meant, other] = subjects.length > 0 ? subjects : others;
      if (!meant) continue;
      if (other) return undefined;
      return meant.group ?? (meant.entity ? [meant.entity] : undefined);
    }
    return undefined;
  }

  /**
   * Looks in the clauses before this one, then in the sentences before, for the only participant that fits.
   * @param mayBeBare whether a participant that is no entity may be meant too
   */
  find(
    fits: (participant: Participant) => boolean,
    clause: number,
    mayBeSubject: boolean,
    mayBeBare = false,
  ): Mention | null {
    for (const sentence of [this.before(clause, mayBeSubject), ...this.sentences]) {
      const fitting = sentence.filter(fits);
      if (fitting.some(({ entity }) => entity !== null)) return this.choose(fitting);
      if (mayBeBare && fitting.some(({ role }) => role === 'subject')) return null;
    }
    return null;
  }

  /** An object is not the subject of its own clause, or it would be "himself". */
  private before(clause: number, mayBeSubject: boolean): Participant[] {
    return this.current.filter(({ clause: own, role }) => mayBeSubject || own !== clause || role !== 'subject');
  }

  private choose(fitting: readonly Participant[]): Mention | null {
    const idOf = (mention: Mention) => this.names.idOf(mention);
    const names = new Map(fitting.flatMap(({ entity }) => (entity ? [[idOf(entity), entity] as const] : [])));
    const rivals = fitting.filter(
      ({ entity, role, isPlace }) => entity?.type !== 'place' && !isPlace && role !== 'predicate',
    );
    const subjects = fitting.filter(({ role }) => role === 'subject');
    const isAlone =
      names.size === 1 && !fitting.some(({ entity, role }) => !entity && (role === 'subject' || role === 'object'));
    if (isAlone) return [...names.values()][0]!;
    const subjectNames = new Set(subjects.map(({ entity }) => entity && idOf(entity)));
    if (subjectNames.size !== 1) return null;
    const subject = subjects[0]!.entity;
    if (!subject) return null;
    const others = rivals.filter(
      ({ entity, role }) => (!entity || idOf(entity) !== idOf(subject)) && (entity !== null || role === 'object'),
    );
    if (others.every(({ entity, role }) => (entity === null ? false : role === 'oblique' && entity.type === 'concept')))
      return subject;
    // What the text has been about so far is meant, and not what it mentions beside it.
    const isTopic =
      this.names.timesSubject(subject) >= 2 &&
      others.every(({ entity }) => entity === null || this.names.timesSubject(entity) === 0);
    return isTopic ? subject : null;
  }
}
