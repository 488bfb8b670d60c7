/** Packages without types of their own. */
declare module 'word-extractor' {
  interface Document {
    getBody(): string;
    getFootnotes(): string;
    getEndnotes(): string;
    getTextboxes(options?: { includeHeadersAndFooters?: boolean; includeBody?: boolean }): string;
  }
  export default class WordExtractor {
    extract(file: Buffer): Promise<Document>;
  }
}

declare module 'bmp-js' {
  /** @returns pixels as ABGR, top row first */
  export function decode(file: Buffer): { data: Buffer; width: number; height: number };
}
