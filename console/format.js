const numbers = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const absolute = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'narrow' });

/** @param {number} value */
export const count = (value) => numbers.format(value);

/** @param {number} value */
export const short = (value) => (value < 10_000 ? numbers.format(value) : compact.format(value));

/** @param {number} value @param {string} one @param {string} [many] */
export const plural = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/** @param {number | null} value */
export function bytes(value) {
  if (value === null) return '–';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(value) / 10));
  const amount = value / 1024 ** power;
  return `${amount >= 100 || power === 0 ? Math.round(amount) : amount.toFixed(1)} ${units[power]}`;
}

/** @param {number} ms */
export function duration(ms) {
  if (ms === 0) return '0 ms';
  if (ms < 1) return '<1 ms';
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const parts = (
    /** @type {number} */ large,
    /** @type {string} */ unit,
    /** @type {number} */ small,
    /** @type {string} */ rest,
  ) => (small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${rest}`);
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return parts(minutes, 'min', Math.floor((ms % 60_000) / 1_000), 's');
  return parts(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

/** @param {string} time */
export const exactly = (time) => absolute.format(new Date(time));

/** @param {string} time */
export function ago(time) {
  const seconds = (new Date(time).getTime() - Date.now()) / 1_000;
  const size = Math.abs(seconds);
  if (size < 5) return 'now';
  if (size < 60) return relative.format(Math.round(seconds), 'second');
  if (size < 3_600) return relative.format(Math.round(seconds / 60), 'minute');
  if (size < 86_400) return relative.format(Math.round(seconds / 3_600), 'hour');
  return relative.format(Math.round(seconds / 86_400), 'day');
}

/** A state as people read it: `permanently_failed` becomes `permanently failed`. @param {string} state */
export const words = (state) => state.replaceAll('_', ' ');
