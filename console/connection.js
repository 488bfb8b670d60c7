import { createChanges } from './changes.js';

/**
 * Whether the server responds. A lost connection is noticed by the first request that fails, and probed until it is back.
 */

const PROBE_MS = 2_000;

const { tell, onChange } = createChanges();
let isLost = false;

/** @param {boolean} now */
function set(now) {
  if (now === isLost) return;
  isLost = now;
  tell();
  if (now) setTimeout(probe, PROBE_MS);
}

async function probe() {
  const response = await fetch('/healthz', { cache: 'no-store', credentials: 'omit' }).catch(() => null);
  if (response) set(false);
  else if (isLost) setTimeout(probe, PROBE_MS);
}

export const connection = {
  isLost: () => isLost,

  /** A request had no response. */
  lost: () => set(true),

  /** A request had a response, whatever it was. */
  reached: () => set(false),

  /** When the connection is lost, and when it is back. */
  onChange,
};
