import { useEffect, useState } from 'preact/hooks';
import { call, withQuery } from './api.js';
import { Confirm, Dialog, FormDialog } from './dialogs.js';
import { bytes, plural } from './format.js';
import { html } from './html.js';
import { Icon } from './icons.js';
import { useAction, useGet, useLive } from './live.js';
import { change, linkTo } from './router.js';
import { Empty, Field, Problem, Select } from './ui.js';

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

/** @typedef {{ name: string, data_type: string, max_length?: number }} MetadataField */

const TYPES = ['VARCHAR', 'INT64', 'INT32', 'INT16', 'INT8', 'DOUBLE', 'FLOAT', 'BOOL', 'ARRAY', 'JSON'];

/** @type {MetadataField} */
const NEW_FIELD = { name: '', data_type: 'VARCHAR' };

/**
 * Creates a database, and waits until it takes items.
 * @param {{ onClose: () => void, onReady: (database: string) => void }} props
 */
export function CreateDatabase({ onClose, onReady }) {
  const [name, setName] = useState('');
  const [fields, setFields] = useState(/** @type {MetadataField[]} */ ([]));
  const [created, setCreated] = useState('');
  const form = useAction(async () => {
    const body = { database: name, database_metadata_schema: fields };
    setCreated((await call('POST', '/databases', { body })).database);
  });
  if (created)
    return html`<${Dialog} title="New database" onClose=${onClose}><${Preparing} database=${created} onReady=${onReady} /></${Dialog}>`;
  return html`
    <${FormDialog} title="New database" action="Create" form=${form} onClose=${onClose}>
        <p class="muted">A database holds items that are searched together.</p>
        <${Field} label="Name" value=${name} required maxlength="64" pattern="[A-Za-z0-9_\\-]+" title="Letters, digits, _ and -"
          autocomplete="off" spellcheck="false" placeholder="library" autofocus onInput=${setName} />
        <details>
          <summary>Metadata that items must match (optional)</summary>
          <p class="muted">The value of a declared field must have its type. Other metadata is free, and more fields can be added later.</p>
          ${fields.map(
            (field, index) => html`
              <${MetadataFieldInputs} field=${field} number=${index + 1}
                onChange=${(/** @type {MetadataField} */ changed) => setFields(fields.with(index, changed))}
                onRemove=${() => setFields(fields.toSpliced(index, 1))} />
            `,
          )}
          <button type="button" onClick=${() => setFields([...fields, NEW_FIELD])}>Add a field</button>
        </details>
    </${FormDialog}>
  `;
}

/** @param {{ field: MetadataField, number: number, onChange: (field: MetadataField) => void, onRemove: () => void }} props */
const MetadataFieldInputs = ({ field: { max_length, ...field }, number, onChange, onRemove }) => html`
  <div class="filters" role="group" aria-label=${`Field ${number}`}>
    <${Field} label="Field" value=${field.name} required maxlength="64" pattern="[A-Za-z_][A-Za-z0-9_\\-]*" title="Letters, digits, _ and -, and no digit or - first"
      spellcheck="false" placeholder="year" onInput=${(/** @type {string} */ name) => onChange({ ...field, max_length, name })} />
    <${Select} label="Type" value=${field.data_type} options=${TYPES.map((type) => [type, type])}
      onChange=${(/** @type {string} */ data_type) => onChange({ ...field, data_type })} />
    ${
      field.data_type === 'VARCHAR' &&
      html`
        <${Field} label="Longest text" type="number" min="1" max="1000000" placeholder="any" value=${max_length ?? ''}
          onInput=${(/** @type {string} */ max) => onChange({ ...field, ...(max ? { max_length: Number(max) } : {}) })} />
      `
    }
    <button type="button" class="quiet icon-only" aria-label=${`Remove field ${number}`} onClick=${onRemove}><${Icon} name="close" /></button>
  </div>
`;

/** @param {{ database: string, onReady: (database: string) => void }} props */
function Preparing({ database, onReady }) {
  const { data, error } = useGet(withQuery('/databases/status', { database }), 600);
  const isReady = data?.infra.ready_for_ingestion === true;
  useEffect(() => {
    if (isReady) onReady(database);
  }, [isReady]);
  return html`
    <div class="dialog-body" role="status">
      <p><b>${database}</b> is being prepared. It takes items in a moment.</p>
      <progress aria-label="Being prepared"></progress>
      <${Problem} error=${error} />
    </div>
  `;
}

/**
 * @param {{ database: string, onClose: () => void, onDeleted: () => Promise<void> }} props
 */
export function DeleteDatabase({ database, onClose, onDeleted }) {
  const path = `/databases/${encodeURIComponent(database)}`;
  const { data } = useGet(`${path}/stats`, 0);
  const run = async () => {
    await call('DELETE', path);
    await onDeleted();
  };
  return html`
    <${Confirm} title="Delete a database" action="Delete the database" word=${database} run=${run} onClose=${onClose}>
      <p>
        ${data ? html`<b>${plural(data.items, 'item')}</b> with ${bytes(data.bytes)}, their graph and their index are deleted.` : 'All of its items, their graph and their index are deleted.'}
        ${' They cannot be restored. Deliveries are kept.'}
      </p>
    </${Confirm}>
  `;
}
