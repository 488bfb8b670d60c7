/** What a text has shown of its names so far. */
import type { EntityType } from '../../domain/content/graph.js';
import type { Mention } from './mention.js';
import { type Gender, genderOf, genderOfTitle, isCountry, isRegion, isRole } from './vocabulary.js';

/** Nouns for a company that was named before, whatever it makes. */
export const COMPANY =
  /^(company|firm|business|corporation|start-up|startup|manufacturer|maker|retailer|airline|carrier|supplier|producer|insurer|\p{L}+maker)$/u;
const OTHER_PLACE =
  /\b(river|lake|sea|ocean|bay|mountains?|mount|alps|park|street|road|bridge|station|airport|valley|forest|desert|gulf|peninsula|canal|fjord|square|coast)\b/i;

/** Full names, types, genders, and the common nouns that describe a name. */
export class KnownNames {
  private readonly subjectCounts = new Map<string, number>();
  private readonly types = new Map<string, EntityType>();
  private readonly genders = new Map<string, Gender>();
  /** The full name by its first and its last word; empty when several names have it. */
  private readonly fullNames = new Map<string, string>();
  /** What a common noun has described: "river" is "Aldora". Null is a thing without a name: "a river". */
  private readonly described = new Map<string, Map<string, Mention | null>>();

  /** "Levi" is "Dana Levi", so that one entity does not seem to be two. */
  idOf({ name }: Mention): string {
    return this.fullNames.get(name) || name;
  }

  /** "Harlow Textiles Ltd (the "Supplier")": from here on, the short name is the long one. */
  learnAlias(alias: Mention, name: Mention): void {
    this.fullNames.set(alias.name, this.idOf(name));
    this.described.set(alias.name.toLowerCase(), new Map([[this.idOf(name), name]]));
  }

  /** @param name null for a thing without a name */
  describe(noun: string, name: Mention | null): void {
    const names = this.described.get(noun) ?? new Map<string, Mention | null>();
    names.set(name ? this.idOf(name) : '', name);
    this.described.set(noun, names);
  }

  /** @returns what a common noun has described so far */
  describedBy(noun: string): (Mention | null)[] {
    return [...(this.described.get(noun)?.values() ?? [])];
  }

  /** Learns from an entity of the text. @param isName false for a concept of common nouns */
  learn(entity: Mention, { isName, isSubject }: { isName: boolean; isSubject: boolean }): void {
    if (isName) this.learnFullName(entity);
    const id = this.idOf(entity);
    if (entity.type !== 'name') this.types.set(id, entity.type);
    if (isSubject) this.subjectCounts.set(id, this.timesSubject(entity) + 1);
    if (!isName) return;
    const words = entity.name.split(' ');
    if (entity.type !== 'person' && words.length > 1)
      for (const word of words) this.describe(word.toLowerCase(), entity);
    const gender = genderOfTitle(entity.title) ?? (entity.type === 'person' ? genderOf(words[0]!) : null);
    if (gender) this.learnGender(entity, gender);
  }

  private learnFullName({ name }: Mention): void {
    const words = name.split(' ');
    if (words.length < 2) {
      // A later "OpenSearch Dashboards" is not what "OpenSearch" means.
      if (!this.fullNames.has(name)) this.fullNames.set(name, '');
      return;
    }
    for (const word of [words[0]!, words.at(-1)!]) {
      const known = this.fullNames.get(word);
      this.fullNames.set(word, known === undefined || known === name ? name : '');
    }
  }

  learnGender(mention: Mention, gender: Gender): void {
    this.genders.set(this.idOf(mention), gender);
  }

  /** @returns the gender that the text or a title has shown */
  shownGender(mention: Mention): Gender | undefined {
    return this.genders.get(this.idOf(mention));
  }

  timesSubject(mention: Mention): number {
    return this.subjectCounts.get(this.idOf(mention)) ?? 0;
  }

  /** The type that another mention of the same name may have shown. */
  typeOf(mention: Mention): EntityType {
    return this.types.get(this.idOf(mention)) ?? mention.type;
  }

  /** Of the names whose type is unknown, those that act: a name of several words may be a person. */
  isOrganization(entity: Mention | null): boolean {
    if (!entity) return false;
    const type = this.typeOf(entity);
    return (
      type === 'organization' || (type === 'name' && !this.idOf(entity).includes(' ') && this.timesSubject(entity) > 0)
    );
  }

  /** A place of the same kind: "the city" is no country and no river. */
  isPlaceOf(entity: Mention | null, noun: string): boolean {
    if (!entity || this.typeOf(entity) !== 'place') return false;
    const name = this.idOf(entity);
    return /^(country|nation)$/.test(noun) ? isCountry(name) : !isRegion(name) && !OTHER_PLACE.test(name);
  }

  isPerson(entity: Mention | null, gender: Gender, isSubject: boolean): boolean {
    if (!entity) return false;
    const known = this.shownGender(entity) ?? genderOf(entity.name.split(' ')[0]!);
    if (known) return known === gender && /^(person|name)$/.test(this.typeOf(entity));
    return (
      this.typeOf(entity) === 'person' || (entity.type === 'name' && isSubject && /^\p{L}+[ -]\p{L}/u.test(entity.name))
    );
  }

  /** What a plural noun such as "physicists" or "companies" can be. */
  kindOf(noun: string): ((mention: Mention) => boolean) | null {
    if (COMPANY.test(noun)) return (mention) => /^(organization|name)$/.test(this.typeOf(mention));
    if (/^(country|nation|state|city|town|village|island)$/.test(noun))
      return (mention) => this.typeOf(mention) === 'place';
    if (!isRole(noun) && !/^(man|woman)$/.test(noun)) return null;
    return (mention) =>
      this.typeOf(mention) === 'person' || (this.typeOf(mention) === 'name' && this.idOf(mention).includes(' '));
  }
}
