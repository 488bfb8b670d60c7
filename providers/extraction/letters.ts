/** Letters and digits of a text: whether it says anything, and how much. */
export function countLetters(text: string): number {
  return text.match(/[\p{L}\p{N}]/gu)?.length ?? 0;
}
