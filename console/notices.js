import { useEffect, useState } from 'preact/hooks';
import { changesOf, useChanging } from './changes.js';
import { connection } from './connection.js';
import { html } from './html.js';
import { isOutdated } from './settings.js';

const CHECK_MS = 10 * 60_000;

/** What concerns every page: the connection is lost, or this tab is older than the server. */
export function Notices() {
  const isLost = useChanging(connection.onChange, connection.isLost);
  const [outdated, setOutdated] = useState(false);
  useEffect(() => {
    const check = async () => {
      // A new release starts with a restart, and a tab is often looked at after days.
      if (!document.hidden && !connection.isLost() && (await isOutdated())) setOutdated(true);
    };
    const timer = setInterval(check, CHECK_MS);
    const stops = [connection.onChange(check), changesOf(document, 'visibilitychange')(check)];
    return () => {
      clearInterval(timer);
      for (const stop of stops) stop();
    };
  }, []);
  return html`
    <div class="notices" role="status">
      ${isLost && html`<p class="notice-bar warn">The connection to the server is lost. This page is read again as soon as it is back.</p>`}
      ${
        outdated &&
        html`
          <p class="notice-bar">
            <span>The server has a newer console than this tab.</span>
            <button type="button" onClick=${() => location.reload()}>Reload</button>
          </p>
        `
      }
    </div>
  `;
}
