/** What the clauses of a sentence state: who does what, with whom, where and when. */
import { type Argument, type Clause, newClause, type Reading, type Role, type Statement } from './clause.js';
import { isReduced, startsClause, TEMPORAL, verbFollows } from './clause-boundaries.js';
import type { Noun, Phrase, Verb } from './phrases.js';
import { COPULA, relationOf } from './relation-words.js';

/** What follows these is not stated as a fact. */
const DOUBTING = /^(deny|doubt|dispute)$/;
const CONDITIONAL = /^(if|unless|whether)$/;
/** "asked Sundberg to negotiate": the object is who acts. */
const CAUSING =
  /^(ask|tell|order|allow|invite|force|require|persuade|want|help|enable|urge|instruct|encourage|advise|permit|request|commission|hire|teach)$/;
/** A phrase with one of these in front of the subject says where, when or with whom. */
const LEADS =
  /^(in|on|at|from|since|near|with|during|by|until|under|before|after|around|between|through|outside|within|for|over|to|through|across)$/;
const STANDS = /^(lie|stand|sit|live|hang|be|come|rise|run)$/;

/** Reads the phrases of a sentence from left to right. */
export function readClauses(phrases: readonly Phrase[]): Reading {
  const reader = new ClauseReader(phrases);
  return reader.read();
}

class ClauseReader {
  private readonly statements: Statement[] = [];
  private readonly roles: Role[] = [];
  private readonly outer: Clause[] = [];
  private clauses = 0;
  private clause = this.newClause();
  /** False from a condition on: "if Acme buys" states nothing. */
  private stated = true;
  /** Relations of a participle before its subject: "Founded in 1998, Brightline". */
  private early: { relation: string; target: Noun }[] = [];

  constructor(private readonly phrases: readonly Phrase[]) {}

  read(): Reading {
    this.phrases.forEach((phrase, at) => {
      if (phrase.kind === 'noun') this.readNoun(phrase, at);
      else if (phrase.kind === 'verb') this.readVerb(phrase, at);
      else if (phrase.kind === 'relative') this.readRelative(at);
      else if (phrase.kind === 'that') this.readSubordinate(phrase.word);
      else if (phrase.kind === 'break') this.startOver();
    });
    return { statements: this.statements, roles: this.roles.sort((a, b) => a.noun.from - b.noun.from) };
  }

  private newClause(): Clause {
    return newClause(this.clauses++);
  }

  private startOver(): void {
    this.clause = this.newClause();
    this.outer.length = 0;
    this.early = [];
    this.stated = true;
  }

  private state(source: Argument, relation: string, target: Argument): void {
    // "its main town" means nothing in another text.
    const isOwned = 'possessor' in source && (source as Noun).possessor && !(source as Noun).isName;
    if (this.stated && source !== target && !isOwned) this.statements.push({ source, relation, target });
  }

  private note(noun: Noun, role: Role['role']): void {
    this.roles.push({ noun, role, clause: this.clause.id });
  }

  private readNoun(noun: Noun, at: number): void {
    if (this.clause.verb && startsClause(this.phrases, at)) {
      if (this.phrases[at - 1]?.kind !== 'comma') this.outer.length = 0;
      this.clause = this.newClause();
    }
    if (this.clause.verb) this.readObject(noun, at);
    else this.readBeforeVerb(noun, at);
  }

  private readBeforeVerb(noun: Noun, at: number): void {
    const { clause } = this;
    const last = this.phrases[at - 1];
    if (noun.preposition !== '') {
      const head = last?.kind === 'noun' ? last : null;
      if (head && clause.candidates.includes(head)) this.describe(head, noun);
      if (!head || noun.entity?.type === 'date') clause.fronted.push(noun);
      else this.note(noun, 'oblique');
      return;
    }
    // "Kenji Sato, 54, has run"
    if (last?.kind === 'comma' && noun.noun === '' && noun.pronoun === '' && !noun.entity) return;
    const continues =
      last?.kind === 'and' || (last?.kind === 'comma' && clause.candidates.at(-1)?.isName && noun.isName);
    // "between Peru and Bolivia": the list belongs to the preposition.
    const listed = last?.kind === 'and' ? this.phrases[at - 2] : undefined;
    if (
      clause.candidates.length === 0 &&
      listed?.kind === 'noun' &&
      listed.preposition !== '' &&
      !verbFollows(this.phrases, at)
    )
      clause.fronted.push({ ...noun, preposition: listed.preposition });
    else if (continues && listed?.kind === 'noun' && listed.preposition !== '') this.note(noun, 'oblique');
    else if (continues && clause.candidates.length > 0) {
      // "its capital and largest city"
      if (noun.determiner === '' && !noun.isName) noun.possessor ??= clause.candidates.at(-1)!.possessor;
      clause.candidates.push(noun);
    } else clause.candidates = [noun];
  }

  /** "Ruth Meyer of Kepler Bank", "the Charité in Berlin" */
  private describe(head: Noun, noun: Noun): void {
    const { entity } = head;
    if (!entity || !head.isName || !noun.isName) return;
    const isMember = entity.type === 'person' && /^(of|at|from)$/.test(noun.preposition);
    const isPlaced = entity.type === 'organization' && noun.preposition === 'in';
    if (isMember || isPlaced) this.state(head, `is ${noun.preposition}`, noun);
  }

  private readObject(noun: Noun, at: number): void {
    const { clause } = this;
    const verb = clause.verb!;
    const last = this.phrases[at - 1];
    const relation = relationOf(this.phrases, clause, at);
    this.note(noun, noun.preposition !== '' ? 'oblique' : COPULA.test(verb.lemma) ? 'predicate' : 'object');
    if (
      clause.subjects.length === 0 &&
      clause.fronted.length > 0 &&
      STANDS.test(verb.lemma) &&
      noun.preposition === ''
    ) {
      this.invert(noun);
      return;
    }
    // "From 1703 he was organist": what it says of 1703 needs the predicate.
    if (COPULA.test(verb.lemma) && noun.preposition === '' && noun.words !== '') {
      clause.predicate = `${verb.words} ${noun.words}`;
      for (const subject of clause.subjects) this.stateFronted(subject, clause.predicate);
      clause.fronted = [];
    }
    clause.latest = noun;
    if (relation === null) {
      clause.detached = noun;
      if (last?.kind === 'noun') this.describe(last, noun);
      return;
    }
    clause.relation = relation;
    const isEarly = verb.form === 'participle' || verb.form === 'gerund';
    if (isEarly && clause.subjects.length === 0 && this.outer.length === 0) this.early.push({ relation, target: noun });
    for (const subject of clause.subjects) {
      if (!this.stateOwner(subject, verb, noun)) this.state(subject, relation, noun);
      // "licensed Tesla's patents"
      if (noun.possessor && !noun.isName) this.state(subject, `${relation} ${noun.words} of`, noun.possessor);
    }
  }

  /** "Its largest shareholder is the Wallner family": the object is what the subject of the sentence describes. */
  private stateOwner(subject: Noun, verb: Verb, noun: Noun): boolean {
    if (!/^(be|include)$/.test(verb.lemma) || subject.isName || subject.noun === '' || !noun.entity) return false;
    if (!noun.isName && noun.others.length === 0) return false;
    if (noun.preposition !== '' && this.clause.relation !== verb.words) return false;
    const owner = this.ownerOf(subject);
    if (owner && noun.preposition === '') this.state(noun, `is ${this.roleOf(subject, verb)} of`, owner);
    return owner !== null;
  }

  private roleOf(subject: Noun, verb: Verb): string {
    return verb.lemma === 'include' ? subject.noun : subject.words;
  }

  private ownerOf(subject: Noun): Argument | null {
    if (subject.possessor) return subject.possessor;
    const next = this.phrases[this.phrases.indexOf(subject) + 1];
    return next?.kind === 'noun' && next.preposition === 'of' ? next : null;
  }

  /** "North of the city lies Lake Orrin" */
  private invert(noun: Noun): void {
    const { clause } = this;
    clause.subjects = [noun];
    this.enter();
  }

  /** The clause has its verb and subjects: what stood in front of them belongs to them. */
  private enter(): void {
    const { clause } = this;
    const { words } = clause.verb!;
    const isCopula = COPULA.test(clause.verb!.lemma);
    for (const subject of clause.subjects) {
      if (!isCopula) this.stateFronted(subject, words);
      if (clause.antecedent) this.state(subject, words, clause.antecedent);
      for (const { relation, target } of this.early) this.state(subject, relation, target);
    }
    if (clause.subjects.length > 0) {
      this.early = [];
      if (!isCopula) clause.fronted = [];
    }
    clause.antecedent = null;
  }

  private stateFronted(subject: Noun, words: string): void {
    for (const front of this.clause.fronted)
      if (LEADS.test(front.preposition) && front.entity?.type !== 'concept')
        this.state(subject, `${words} ${front.preposition}`, front);
  }

  private readVerb(verb: Verb, at: number): void {
    const last = this.phrases[at - 1];
    if (verb.form === 'infinitive') this.readInfinitive(verb, last);
    else if (verb.form === 'gerund') this.readGerund(verb, last);
    else if (!this.clause.verb) this.readFirstVerb(verb, at);
    else this.readNextVerb(verb, at);
  }

  private setVerb(verb: Verb): void {
    this.clause.verb = verb;
    this.clause.relation = '';
    this.clause.predicate = '';
    this.clause.latest = null;
    this.enter();
  }

  private readFirstVerb(verb: Verb, at: number): void {
    const { clause } = this;
    const last = this.phrases[at - 1];
    if (
      verb.form === 'participle' &&
      clause.candidates.length > 0 &&
      last?.kind === 'noun' &&
      isReduced(this.phrases, at)
    ) {
      this.outer.push(clause);
      this.clause = this.newClause();
      this.clause.subjects = [last];
      this.setVerb({ ...verb, words: `was ${verb.words}` });
      return;
    }
    const isEarly = verb.form === 'participle' && clause.candidates.length === 0 && clause.fronted.length === 0;
    clause.subjects = clause.candidates;
    const front = clause.fronted.at(-1);
    if (clause.subjects.length === 0 && front && TEMPORAL.test(front.preposition))
      clause.subjects = [clause.fronted.pop()!];
    if (!clause.isRelative) for (const subject of clause.subjects) this.note(subject, 'subject');
    for (const fronted of clause.fronted) this.note(fronted, 'oblique');
    if (clause.subjects.length === 0 && last?.kind === 'comma') return;
    this.setVerb(isEarly && last?.kind !== 'relative' ? { ...verb, words: `was ${verb.words}` } : verb);
  }

  private readNextVerb(verb: Verb, at: number): void {
    const last = this.phrases[at - 1];
    const before = this.phrases[at - 2];
    const isCoordinated = last?.kind === 'and';
    if (isCoordinated) {
      // "which makes cups, and sold it": after a comma the main clause goes on.
      if (before?.kind === 'comma' && this.outer.length > 0) this.resume();
      this.goOn(verb);
      return;
    }
    if (last?.kind === 'comma' && this.outer.length > 0) {
      this.resume();
      this.goOn(verb);
      return;
    }
    if (last?.kind === 'noun' && verb.form === 'participle' && !this.outerWaits()) {
      this.outer.push(this.clause);
      this.clause = this.newClause();
      this.clause.subjects = [last];
      this.setVerb({ ...verb, words: `was ${verb.words}` });
      return;
    }
    if (this.outer.length > 0) {
      this.resume();
      this.goOn(verb);
      return;
    }
    if (last?.kind === 'noun' && last.preposition === '') this.makeSubject(last);
    this.goOn(verb);
  }

  /** True when a clause before this one still waits for its verb: "The photo that Anna took shows". */
  private outerWaits(): boolean {
    return this.outer.at(-1)?.verb === null;
  }

  private resume(): void {
    this.clause = this.outer.pop()!;
  }

  /** Another verb of the same subjects, or the first verb of a clause that was interrupted. */
  private goOn(verb: Verb): void {
    const { clause } = this;
    if (!clause.verb) {
      clause.subjects = clause.candidates;
      for (const subject of clause.subjects) this.note(subject, 'subject');
    }
    this.setVerb(verb);
  }

  /** "She hopes Acme opens": what seemed to be the object is the subject of the next verb. */
  private makeSubject(noun: Noun): void {
    const wrong = this.statements.findIndex(({ target }) => target === noun);
    if (wrong !== -1) this.statements.splice(wrong);
    this.clause = this.newClause();
    this.clause.subjects = [noun];
  }

  private readInfinitive(verb: Verb, last: Phrase | undefined): void {
    const { clause } = this;
    if (clause.verb && last?.kind === 'noun' && last.preposition === '' && CAUSING.test(clause.verb.lemma)) {
      this.clause = this.newClause();
      this.clause.subjects = [last];
      this.setVerb({ ...verb, words: verb.words.replace(/^to /, '') });
      return;
    }
    if (clause.verb && clause.subjects.length > 0) {
      // "had no plans to leave Osaka"
      const object = last?.kind === 'noun' && last.words !== '' ? ` ${last.words}` : '';
      this.setVerb({ ...verb, words: `${clause.relation || clause.verb.words}${object} ${verb.words}` });
    } else if (!clause.verb && clause.candidates.length > 0) {
      // "The plan to close the mine failed": nobody closes it here.
      this.outer.push(clause);
      this.clause = this.newClause();
      this.clause.verb = verb;
    }
  }

  private readGerund(verb: Verb, last: Phrase | undefined): void {
    const { clause } = this;
    if (verb.preposition !== '' || last?.kind === 'comma' || last?.kind === 'and' || last === undefined) {
      const words = /^(without|instead of)$/.test(verb.preposition) ? `${verb.preposition} ${verb.words}` : verb.words;
      if (clause.verb) this.setVerb({ ...verb, words });
      else if (clause.candidates.length === 0) {
        this.clause = this.newClause();
        this.clause.verb = { ...verb, words };
      }
    } else if (last.kind === 'noun') {
      this.outer.push(clause);
      this.clause = this.newClause();
      this.clause.subjects = [last];
      this.setVerb(verb);
    } else if (clause.verb) this.setVerb(verb);
  }

  private readRelative(at: number): void {
    const [before, next] = [this.phrases[at - 1], this.phrases[at + 1]];
    const antecedent = before?.kind === 'noun' ? before : this.phrases[at - 2];
    if (antecedent?.kind !== 'noun') return;
    this.outer.push(this.clause);
    this.clause = this.newClause();
    if (next?.kind === 'verb') {
      this.clause.candidates = [antecedent];
      this.clause.isRelative = true;
    } else this.clause.antecedent = antecedent;
  }

  private readSubordinate(word: string): void {
    const verb = this.clause.verb;
    if (CONDITIONAL.test(word) || (verb && DOUBTING.test(verb.lemma))) this.stated = false;
    if (!verb && this.clause.candidates.length > 0) this.outer.push(this.clause);
    else if (verb) this.outer.length = 0;
    this.clause = this.newClause();
  }
}
