import { call } from '../api.js';
import { Confirm } from '../dialogs.js';
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
  const revoke = async () => {
    await call('DELETE', `/keys/${encodeURIComponent(key.id)}`);
    if (key.current)
      session.signOut({ slot: 'api', reason: 'You have revoked the key of this tab. Sign in with another one.' });
    else await onRevoked();
  };
  return html`
    <${Confirm} title=${`Revoke ${key.label}?`} action="Revoke" keep="Keep it" run=${revoke} onClose=${onClose}>
      <p>${KINDS[key.kind].stops} stop working at once. This cannot be undone.</p>
      <p>
          ${
            key.last_used_at
              ? html`The key <code>${shownKey(key)}</code> was last used <${ui.Time} at=${key.last_used_at} />.`
              : html`The key <code>${shownKey(key)}</code> has never been used.`
          }
          ${key.current && html` <b>You are signed in with it: this tab asks for another key then.</b>`}
      </p>
    </${Confirm}>
  `;
}
