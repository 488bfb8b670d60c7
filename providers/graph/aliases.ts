/** Short names that a text gives in parentheses: `Harlow Textiles Ltd (the "Supplier")`, `the European Central Bank (ECB)`. */
import type { Mention, Noun } from './mention.js';
import type { Token } from './tagger.js';

/** A short name, and the name that it stands for. */
export interface Alias {
  alias: Mention;
  name: Mention;
}

const QUOTE = /^["“”„‘’']+$/;
/** Words between the parenthesis and the short name. */
const LEAD = /^(the|or|hereinafter|hereafter|called|known|as|abbreviated|referred|to|,|:)$/i;

/** @param nouns all noun phrases of the sentence, also those in parentheses */
export function aliasesOf(tokens: readonly Token[], nouns: readonly Noun[]): Alias[] {
  return nouns.flatMap(({ to, entity, isName }) => {
    if (!isName || !entity || entity.type === 'date' || tokens[to + 1]?.text !== '(') return [];
    let at = to + 2;
    while (LEAD.test(tokens[at]?.text ?? '')) at++;
    const isQuoted = QUOTE.test(tokens[at]?.text ?? '');
    if (isQuoted) at++;
    if (isQuoted && /^the$/i.test(tokens[at]?.text ?? '')) at++;
    const end = tokens.findIndex(({ text }, index) => index >= at && (text === ')' || QUOTE.test(text)));
    const text =
      end === -1
        ? ''
        : tokens
            .slice(at, end)
            .map((token) => token.text)
            .join(' ');
    if (!/^\p{Lu}[\p{L}\d&.-]*( \p{Lu}[\p{L}\d&.-]*){0,2}$/u.test(text) || text === entity.name) return [];
    if (!isQuoted && !areInitials(text, entity.name)) return [];
    return [{ alias: { name: text, type: entity.type, from: at, doubtful: false }, name: entity }];
  });
}

/** "ECB" of "European Central Bank": its letters begin words of the name, in their order. */
function areInitials(short: string, name: string): boolean {
  if (!/^[A-Z][A-Za-z&]{1,7}$/.test(short)) return false;
  const initials = name.split(/[ -]/).map((word) => word[0]!.toUpperCase());
  let at = 0;
  for (const letter of short.toUpperCase().replace('&', '')) {
    at = initials.indexOf(letter, at) + 1;
    if (at === 0) return false;
  }
  return initials.length > 1;
}
