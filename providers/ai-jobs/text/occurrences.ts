export interface Span {
  start: number;
  end: number;
}

/** Where a phrase stands in a text as whole words, its words apart by any white space. @param flags `i` for any case */
export function occurrences(text: string, phrase: string, flags = ''): Span[] {
  const words = phrase.trim().split(/\s+/).map(literally);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${words.join('\\s+')}(?![\\p{L}\\p{N}])`, `gu${flags}`);
  return Array.from(text.matchAll(pattern), (match) => ({ start: match.index, end: match.index + match[0].length }));
}

const literally = (word: string) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
