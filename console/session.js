import { createChanges } from './changes.js';

/**
 * The keys of this tab. They are kept in `sessionStorage` only: another tab has its own, and closing the tab removes them.
 *
 * @typedef {'api' | 'crew' | 'payment'} KeySlot
 */

/** @type {Record<KeySlot, string>} */
const NAMES = { api: 'postback.key.api', crew: 'postback.key.crew', payment: 'postback.key.payment' };

const SLOTS = /** @type {KeySlot[]} */ (Object.keys(NAMES));

/** Keys that were pasted at `/docs` in this tab. */
const PASTED = 'postback.docs.key.';

const { tell, onChange } = createChanges();

/** Why the last session ended, for the sign-in page. */
let notice = '';

export const session = {
  /** @param {KeySlot} slot */
  key: (slot) => sessionStorage.getItem(NAMES[slot]),

  isSignedIn: () => SLOTS.some((slot) => session.key(slot) !== null),

  notice: () => notice,

  /** @param {Partial<Record<KeySlot, string>>} keys */
  signIn(keys) {
    notice = '';
    for (const slot of SLOTS) if (keys[slot]) sessionStorage.setItem(NAMES[slot], keys[slot]);
    tell();
  },

  /** Forgets one key; or all, and those that were pasted at `/docs`. @param {{ slot?: KeySlot, reason?: string }} [options] */
  signOut({ slot, reason = '' } = {}) {
    notice = reason;
    for (const [name, entry] of Object.entries(NAMES)) if (!slot || name === slot) sessionStorage.removeItem(entry);
    if (!slot) {
      const pasted = Object.keys(sessionStorage).filter((entry) => entry.startsWith(PASTED));
      for (const entry of pasted) sessionStorage.removeItem(entry);
    }
    tell();
  },

  onChange,
};

/**
 * Which key this is, by its prefix. A publishable key opens no page.
 * @param {string} key
 * @returns {KeySlot | null}
 */
function slotOf(key) {
  if (key.startsWith('pbk_api_')) return 'api';
  if (/^pbk_crew(user)?_/.test(key)) return 'crew';
  return key.startsWith('pbk_sk_') ? 'payment' : null;
}

/**
 * The keys in a text: one key, or what `postback env` prints, or the file with the keys of `npm start`. Of two keys for the same
 * pages the one that may do more is taken.
 * @param {string} text
 * @returns {Partial<Record<KeySlot, string>>}
 */
export function keysIn(text) {
  /** @type {Partial<Record<KeySlot, string>>} */
  const found = {};
  for (const [key] of text.matchAll(/pbk_[a-z]+_[\w-]{43}/g)) {
    const slot = slotOf(key);
    if (slot && (!found[slot] || isUserKey(found[slot]))) found[slot] = key;
  }
  return found;
}

/** Whether a crew key belongs to a user, who sees less than the organisation. @param {string | null | undefined} key */
export const isUserKey = (key) => key?.startsWith('pbk_crewuser_') ?? false;
