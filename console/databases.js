import { call } from './api.js';
import { html } from './html.js';
import { useLive } from './live.js';
import { change, linkTo } from './router.js';
import { Empty, Select } from './ui.js';

/** Databases that a list offers. */
const MAX_DATABASES = 100;

/** The databases of the organisation, newest first. */
export function useDatabases() {
  return useLive(
    async (signal) => {
      /** @type {{ databases: import('./api.js').Schemas['Database'][] }} */
      const { databases } = await call('GET', `/databases?limit=${MAX_DATABASES}`, { signal });
      return databases.filter(({ status }) => status !== 'deleting').map(({ database }) => database);
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
    <a class="button primary" href=${linkTo('items', { create: '1' })}>Create a database</a>
  </${Empty}>
`;
