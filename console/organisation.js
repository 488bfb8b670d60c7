import { call } from './api.js';
import { html } from './html.js';
import { useLive } from './live.js';
import { isUserKey, session } from './session.js';

/** The name of the organisation whose records are shown. Keys of users, and keys for payments, do not show it. */
export function Organisation() {
  const as = session.key('api') === null ? 'crew' : 'api';
  const key = session.key(as);
  const { data } = useLive(
    async (signal) => (key === null || isUserKey(key) ? null : call('GET', '/usage', { as, signal })),
    [key],
    0,
  );
  return data ? html`<p class="organisation">Organisation <b>${data.organisation}</b></p>` : null;
}
