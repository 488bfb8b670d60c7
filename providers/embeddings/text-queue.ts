/** Tokens of documents that a thread has at a time: two of the longest texts, and a wait of a quarter of a second. */
const WINDOW = 1_024;
/** The model reads the beginning of a longer text only. */
const LONGEST_TEXT = 512;
/** A window is not divided further between threads. */
const SMALLEST_WINDOW = 256;
/** Tokens of a short text, such as a note. It takes some hundredths of a second. */
const SHORT_TEXT = 64;
/** Tokens of questions that a thread has at a time: the questions of other organisations wait for no more. */
const QUESTIONS = 512;
/** A longer word has several tokens. */
const LETTERS_PER_TOKEN = 6;

export interface QueuedText {
  number: number;
  text: string;
  kind: 'query' | 'document';
  /** Goes before the documents. */
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
  const waiting = { query: createTurns(), document: createTurns() };
  let lastNumber = 0;

  return {
    get size() {
      return waiting.query.texts.length + waiting.document.texts.length;
    },
    /**
     * @param org whose texts they are. Without it, each call has turns of its own
     * @returns the vectors, and a function that takes the texts back and rejects with the reason
     */
    add(texts: readonly string[], kind: QueuedText['kind'], org?: string) {
      const added: QueuedText[] = [];
      const turns = waiting[kind];
      const firstTurn = turns.nextOf(org);
      const urgent = kind === 'query';
      const vectors = texts.map(
        (text, index) =>
          new Promise<Float32Array>((resolve, reject) => {
            lastNumber += 1;
            const turn = firstTurn + index;
            const tokens = countTokens(text);
            added.push({ number: lastNumber, text, kind, urgent, org, tokens, turn, resolve, reject });
          }),
      );
      turns.add(added);
      return {
        vectors: Promise.all(vectors),
        abandon(reason: unknown) {
          turns.remove(added);
          for (const text of added) text.reject(reason);
        },
      };
    },
    /** @param given tokens of urgent texts that the thread has already @returns the questions whose turn it is */
    takeQueries(given: number): QueuedText[] {
      return given < QUESTIONS ? waiting.query.take(QUESTIONS - given) : [];
    },
    /**
     * Takes a short document of each organisation that has none in a thread: it does not wait for the long texts of others
     * that a thread has already. It is urgent from then on.
     */
    takeShort(embedded: ReadonlySet<string | undefined>): QueuedText[] {
      const first = new Map(waiting.document.texts.toReversed().map((text) => [text.org, text]));
      const short = [...first.values()].filter(
        ({ org, tokens }) => org !== undefined && !embedded.has(org) && tokens <= SHORT_TEXT,
      );
      if (short.length > 0) waiting.document.remove(short);
      for (const text of short) text.urgent = true;
      return short;
    },
    /** @returns the documents whose turn it is: a window, or the share of one of so many threads if that is less */
    takeDocuments(threads: number): QueuedText[] {
      const all = waiting.document.texts.reduce((sum, { tokens }) => sum + tokens, 0);
      return waiting.document.take(Math.min(WINDOW, Math.max(SMALLEST_WINDOW, all / threads)));
    },
    rejectAll(error: Error): void {
      for (const turns of Object.values(waiting)) {
        for (const text of turns.texts) text.reject(error);
        turns.remove(turns.texts);
      }
    },
  };
}

/** Organisations take turns text by text, so that one text does not wait for all texts of another organisation. */
function createTurns() {
  /** In the order of their turns. */
  let texts: QueuedText[] = [];
  /** The turn of the last text that was taken. New calls start at it, so they are not behind texts with later turns. */
  let lastTurn = 0;

  return {
    get texts(): readonly QueuedText[] {
      return texts;
    },
    nextOf(org: string | undefined): number {
      const last = org === undefined ? undefined : texts.findLast((text) => text.org === org);
      return last === undefined ? lastTurn : Math.max(lastTurn, last.turn + 1);
    },
    add(added: readonly QueuedText[]): void {
      texts = [...texts, ...added].sort((a, b) => a.turn - b.turn);
    },
    remove(removed: readonly QueuedText[]): void {
      const gone = new Set(removed);
      texts = texts.filter((text) => !gone.has(text));
    },
    /** @returns the next text, and the following ones while all of them have no more than so many tokens */
    take(tokens: number): QueuedText[] {
      let taken = 0;
      let count = 0;
      for (const text of texts) {
        taken += text.tokens;
        if (count > 0 && taken > tokens) break;
        count += 1;
      }
      lastTurn = texts[count - 1]?.turn ?? lastTurn;
      return texts.splice(0, count);
    },
  };
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
