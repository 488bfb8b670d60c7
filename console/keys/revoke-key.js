import { useState } from 'preact/hooks';
import { call } from '../api.js';
import { html } from '../html.js';
import { session } from '../session.js';
import * as ui from '../ui.js';
import { KINDS, shownKey } from './kinds.js';

/** @typedef {import('./kinds.js').Key} Key */

/**
 * Asks before a key is revoked, and says what stops working.
 * @param {{ of: Key, onClose: () => void, onRevoked: () => Promise<void> }} props
 */
export function RevokeKey({ of: key, onClose, onRevoked }) {
  const [error, setError] = useState(/** @type {Error | undefined} */ (undefined));
  const revoke = async () => {
    try {
      await call('DELETE', `/keys/${encodeURIComponent(key.id)}`);
      if (key.current) {
        session.signOut({ slot: 'api', reason: 'You have revoked the key of this tab. Sign in with another one.' });
        return;
      }
      onClose();
      await onRevoked();
    } catch (fault) {
      setError(/** @type {Error} */ (fault));
    }
  };
  const { stops } = KINDS[key.kind];
  return html`
    <${ui.Dialog} title=${`Revoke ${key.label}?`} onClose=${onClose}>
      <div class="dialog-body">
        <p>${stops} stop working at once. This cannot be undone.</p>
        <p>
          ${
            key.last_used_at
              ? html`The key <code>${shownKey(key)}</code> was last used <${ui.Time} at=${key.last_used_at} />.`
              : html`The key <code>${shownKey(key)}</code> has never been used.`
          }
          ${key.current && html` <b>You are signed in with it: this tab asks for another key then.</b>`}
        </p>
        <${ui.Problem} error=${error} />
        <div class="dialog-end">
          <button type="button" onClick=${onClose}>Keep it</button>
          <${ui.ActionButton} className="danger" run=${revoke}>Revoke</${ui.ActionButton}>
        </div>
      </div>
    </${ui.Dialog}>
  `;
}
