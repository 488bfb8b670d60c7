/**
 * The keys of this tab. They are kept in `sessionStorage` only: another tab has its own, and closing the tab removes them.
 *
 * @typedef {'api' | 'crew'} KeySlot
 */

/** @type {Record<KeySlot, string>} */
const NAMES = { api: 'postback.key.api', crew: 'postback.key.crew' };

/** Keys that were pasted at `/docs` in this tab. */
const PASTED = 'postback.docs.key.';

const changes = new EventTarget();

/** Why the last session ended, for the sign-in page. */
let notice = '';

export const session = {
  /** @param {KeySlot} slot */
  key: (slot) => sessionStorage.getItem(NAMES[slot]),

  isSignedIn: () => session.key('api') !== null || session.key('crew') !== null,

  notice: () => notice,

  /** @param {KeySlot} slot @param {string} key */
  signIn(slot, key) {
    notice = '';
    sessionStorage.setItem(NAMES[slot], key);
    changes.dispatchEvent(new Event('change'));
  },

  /** Forgets one key; or both, and those that were pasted at `/docs`. @param {{ slot?: KeySlot, reason?: string }} [options] */
  signOut({ slot, reason = '' } = {}) {
    notice = reason;
    for (const [name, entry] of Object.entries(NAMES)) if (!slot || name === slot) sessionStorage.removeItem(entry);
    if (!slot) {
      const pasted = Object.keys(sessionStorage).filter((entry) => entry.startsWith(PASTED));
      for (const entry of pasted) sessionStorage.removeItem(entry);
    }
    changes.dispatchEvent(new Event('change'));
  },

  /** @param {() => void} listener @returns {() => void} */
  onChange(listener) {
    changes.addEventListener('change', listener);
    return () => changes.removeEventListener('change', listener);
  },
};

/**
 * Which key this is, by its prefix.
 * @param {string} key
 * @returns {KeySlot | 'payment' | null}
 */
export function slotOf(key) {
  if (key.startsWith('pbk_api_')) return 'api';
  if (/^pbk_crew(user)?_/.test(key)) return 'crew';
  return /^pbk_[sp]k_/.test(key) ? 'payment' : null;
}

/** Whether a crew key belongs to a user, who sees less than the organisation. @param {string | null} key */
export const isUserKey = (key) => key?.startsWith('pbk_crewuser_') ?? false;
