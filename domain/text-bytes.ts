/** @returns the bytes of texts in UTF-8; a text that is not there has none */
export function textBytes(...texts: readonly (string | null)[]): number {
  return texts.reduce((sum, text) => sum + (text === null ? 0 : Buffer.byteLength(text)), 0);
}
