import { call } from './api.js';
import { html } from './html.js';
import { useLive } from './live.js';
import { change } from './router.js';
import { Command, Empty, Select } from './ui.js';

/** Databases that a list offers. */
const MAX_DATABASES = 100;

/** The databases of the organisation, newest first. */
export function useDatabases() {
  return useLive(
    async (signal) => {
      const { databases } = await call('GET', `/databases?limit=${MAX_DATABASES}`, { signal });
      return /** @type {string[]} */ (databases.map((/** @type {{ database: string }} */ { database }) => database));
    },
    [],
    30_000,
  );
}

/** @param {{ databases: string[], value: string }} props */
export const DatabaseSelect = ({ databases, value }) => html`
  <${Select} label="Database" value=${value} options=${databases.map((name) => [name, name])}
    onChange=${(/** @type {string} */ database) => change({ database, status: '', id: '', collection: '' })} />
`;

export const NoDatabase = () => html`
  <${Empty} title="No database yet. A database holds items that are searched together.">
    <${Command}>./postback databases create library</${Command}>
  </${Empty}>
`;
