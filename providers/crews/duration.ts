import { z } from 'zod';

const UNITS_MS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;
type Unit = keyof typeof UNITS_MS;

/** Ten years: a deadline, not a guess at eternity. */
const MAX_MS = 3_650 * UNITS_MS.d;

const PARTS = /^(?:\d{1,6} ?(?:s|m|h|d|w|sec|second|min|minute|hour|day|week)s? ?)+$/;
const ISO_8601 = /^p(?!$)(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:t(?!$)(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,6})s)?)?$/;

/** A duration such as `90s`, `2h 30m`, `3 days`, `P3D`, or a number of seconds; in milliseconds. */
export const durationSchema = z
  .union([z.number(), z.string()], 'must be a duration, such as 90s, 12h or 3d')
  .transform((value) => (typeof value === 'number' ? value * UNITS_MS.s : millisecondsOf(value.trim().toLowerCase())))
  .refine((ms) => ms !== null, 'must be a duration, such as 90s, 12h or 3d')
  .transform((ms) => ms ?? 0)
  .refine((ms) => ms >= UNITS_MS.s && ms <= MAX_MS, 'must be between one second and ten years');

/** @returns null for a text that is no duration */
function millisecondsOf(text: string): number | null {
  const iso = ISO_8601.exec(text);
  if (iso) {
    const units: Unit[] = ['w', 'd', 'h', 'm', 's'];
    return units.reduce((sum, unit, index) => sum + Number(iso[index + 1] ?? 0) * UNITS_MS[unit], 0);
  }
  if (/^\d{1,9}$/.test(text)) return Number(text) * UNITS_MS.s;
  if (!PARTS.test(text)) return null;
  const parts = [...text.matchAll(/(\d{1,6}) ?([smhdw])/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * UNITS_MS[unit as Unit], 0);
}
