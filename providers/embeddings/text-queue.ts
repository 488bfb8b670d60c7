/** Tokens of documents that a thread has at a time: two of the longest texts, and a wait of a quarter of a second. */
const WINDOW = 1_024;
/** The model reads the beginning of a longer text only. */
const LONGEST_TEXT = 512;
/** A window is not divided further between threads. */
const SMALLEST_WINDOW = 256;
/** Tokens of a short text, such as a note. It takes some hundredths of a second. */
const SHORT_TEXT = 64;
/** A longer word has several tokens. */
const LETTERS_PER_TOKEN = 6;

export interface QueuedText {
  number: number;
  text: string;
  urgent: boolean;
  org: string | undefined;
  /** Estimated. */
  tokens: number;
  /** Texts with lower turns are embedded first. */
  turn: number;
  resolve(vector: Float32Array): void;
  reject(error: unknown): void;
}

/** Texts that wait for a thread with the model. */
export function createTextQueue() {
  let queries: QueuedText[] = [];
  let documents: QueuedText[] = [];
  let lastNumber = 0;
  /** The turn of the last text that was taken. New calls start at it, so they are not behind texts with later turns. */
  let lastTurn = 0;

  return {
    get size() {
      return queries.length + documents.length;
    },
    /**
     * @param org whose texts they are. Without it, each call has turns of its own
     * @returns the vectors, and a function that takes the texts back and rejects with the reason
     */
    add(texts: readonly string[], urgent: boolean, org?: string) {
      const added: QueuedText[] = [];
      const firstTurn = nextTurnOf(org);
      const vectors = texts.map(
        (text, index) =>
          new Promise<Float32Array>((resolve, reject) => {
            lastNumber += 1;
            // Organisations take turns text by text, so that one text does not wait for all texts of another organisation.
            const turn = firstTurn + index;
            const tokens = urgent ? 0 : countTokens(text);
            added.push({ number: lastNumber, text, urgent, org, tokens, turn, resolve, reject });
          }),
      );
      if (urgent) queries.push(...added);
      else documents = [...documents, ...added].sort((a, b) => a.turn - b.turn);
      return {
        vectors: Promise.all(vectors),
        abandon(reason: unknown) {
          const own = new Set(added);
          queries = queries.filter((text) => !own.has(text));
          documents = documents.filter((text) => !own.has(text));
          for (const text of added) text.reject(reason);
        },
      };
    },
    takeQueries(): QueuedText[] {
      return queries.splice(0);
    },
    /**
     * Takes a short document of each organisation that has none in a thread: it does not wait for the long texts of others
     * that a thread has already. It is urgent from then on.
     */
    takeShort(embedded: ReadonlySet<string | undefined>): QueuedText[] {
      const first = new Map(documents.toReversed().map((text) => [text.org, text]));
      const short = [...first.values()].filter(
        ({ org, tokens }) => org !== undefined && !embedded.has(org) && tokens <= SHORT_TEXT,
      );
      if (short.length > 0) documents = documents.filter((text) => !short.includes(text));
      for (const text of short) text.urgent = true;
      return short;
    },
    /** @returns the documents whose turn it is: a window, or the share of one of so many threads if that is less */
    takeDocuments(threads: number): QueuedText[] {
      const all = documents.reduce((sum, { tokens }) => sum + tokens, 0);
      const window = Math.min(WINDOW, Math.max(SMALLEST_WINDOW, all / threads));
      let taken = 0;
      let count = 0;
      for (const { tokens } of documents) {
        taken += tokens;
        if (count > 0 && taken > window) break;
        count += 1;
      }
      lastTurn = documents[count - 1]?.turn ?? lastTurn;
      return documents.splice(0, count);
    },
    rejectAll(error: Error): void {
      for (const text of [...queries.splice(0), ...documents.splice(0)]) text.reject(error);
    },
  };

  function nextTurnOf(org: string | undefined): number {
    // The documents are in the order of their turns.
    const last = org === undefined ? undefined : documents.findLast((text) => text.org === org);
    return last === undefined ? lastTurn : Math.max(lastTurn, last.turn + 1);
  }
}

/** @returns about as many tokens as the model reads of the text: signs and characters of other scripts are one each */
function countTokens(text: string): number {
  let tokens = 0;
  let letters = 0;
  for (let index = 0; index < text.length && tokens < LONGEST_TEXT; index += 1) {
    const code = text.charCodeAt(index);
    const lower = code | 0x20;
    if ((lower >= 0x61 && lower <= 0x7a) || (code >= 0x30 && code <= 0x39)) {
      if (letters % LETTERS_PER_TOKEN === 0) tokens += 1;
      letters += 1;
    } else {
      letters = 0;
      if (code > 0x20) tokens += 1;
    }
  }
  return tokens;
}
