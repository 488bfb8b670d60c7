import type { Access } from './collections.js';

/** Tokens that the language models of one organisation have used on one day. */
export interface ModelTokensRecord {
  /** `<org>/<day>`, with the day in UTC as `2026-01-31`. */
  _id: string;
  /** Input and output tokens. */
  tokens: number;
  /** When MongoDB removes the record. */
  expires_at: Date;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** How long the count of a day is kept. */
const KEPT_MS = 40 * DAY_MS;

export type ModelTokens = ReturnType<typeof createModelTokens>;

/** Counts the tokens of language models by organisation and day (UTC). */
export function createModelTokens({ modelTokens }: Access<'modelTokens'>) {
  const id = (org: string, now: Date) => `${org}/${now.toISOString().slice(0, 10)}`;
  return {
    /** @returns the tokens used on the day of `now` */
    async usedOn(org: string, now: Date): Promise<number> {
      return (await modelTokens.findOne({ _id: id(org, now) }))?.tokens ?? 0;
    },

    async add(org: string, tokens: number, now: Date): Promise<void> {
      await modelTokens.updateOne(
        { _id: id(org, now) },
        { $inc: { tokens }, $setOnInsert: { expires_at: new Date(now.getTime() + KEPT_MS) } },
        { upsert: true },
      );
    },
  };
}

/** @returns when the day of `now` ends, and its count with it */
export function endOfDay(now: Date): Date {
  return new Date((Math.floor(now.getTime() / DAY_MS) + 1) * DAY_MS);
}
