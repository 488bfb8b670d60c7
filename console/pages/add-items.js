import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { chosenFiles, droppedFiles } from '../files.js';
import { bytes, count } from '../format.js';
import { html } from '../html.js';
import { Icon } from '../icons.js';
import { useLive } from '../live.js';
import { change } from '../router.js';
import { Field } from '../ui.js';
import { readLimits, uploads } from '../uploads.js';
import { UploadList } from './upload-list.js';

/** @typedef {import('../files.js').Source} Source */
/** @typedef {import('../files.js').Limits} Limits */

/**
 * Adds files, folders and notes to a database. Files can be dropped anywhere on the page.
 * @param {{ database: string, isOpen: boolean }} props
 */
export function AddItems({ database, isOpen }) {
  const [collection, setCollection] = useState('default');
  const [replaces, setReplaces] = useState(false);
  const { data: limits } = useLive(readLimits, [], 0);
  const place = { database, collection: collection || 'default' };
  /** @param {Source[]} sources */
  const add = (sources) => void uploads.addFiles(sources, place, { replaces });
  const isOver = useDrop(add);
  return html`
    ${isOver && html`<div class="drop-here" aria-hidden="true">Drop files or folders to add them to ${database}</div>`}
    ${
      isOpen &&
      html`
        <section class="card adding" aria-label="Add items">
          <header class="card-head">
            <h2>Add items to ${database}</h2>
            <button type="button" class="quiet icon-only" aria-label="Close" onClick=${() => change({ add: '' })}><${Icon} name="close" /></button>
          </header>
          <div class="filters">
            <${Field} label="Collection" value=${collection} maxlength="64" pattern="[A-Za-z0-9_\\-]+" title="Letters, digits, _ and -"
              spellcheck="false" placeholder="default" onInput=${(/** @type {string} */ name) => setCollection(name.trim())} />
            <label class="check">
              <input type="checkbox" checked=${replaces} onChange=${(/** @type {any} */ event) => setReplaces(event.target.checked)} />
              Replace items that exist
            </label>
          </div>
          <div class="halves">
            <${ChooseFiles} limits=${limits} onChosen=${add} />
            <${Note} limits=${limits} onSave=${(/** @type {{ title: string, text: string }} */ note) => uploads.addNote(note, place)} />
          </div>
        </section>
      `
    }
    <${UploadList} />
  `;
}

/** @param {{ limits: Limits | undefined, onChosen: (sources: Source[]) => void }} props */
function ChooseFiles({ limits, onChosen }) {
  const files = useRef(/** @type {HTMLInputElement | null} */ (null));
  const folder = useRef(/** @type {HTMLInputElement | null} */ (null));
  /** @param {Event & { currentTarget: HTMLInputElement }} event */
  const onChange = ({ currentTarget }) => {
    onChosen(chosenFiles(currentTarget.files));
    // The same file can be chosen again.
    currentTarget.value = '';
  };
  return html`
    <div class="drop-zone">
      <strong>Drop files or folders anywhere on this page</strong>
      <div class="decision">
        <button type="button" class="primary" onClick=${() => files.current?.click()}>Choose files</button>
        <button type="button" onClick=${() => folder.current?.click()}>Choose a folder</button>
      </div>
      <input type="file" multiple hidden ref=${files} aria-label="Files" onChange=${onChange} />
      <input type="file" webkitdirectory hidden ref=${folder} aria-label="Folder" onChange=${onChange} />
      ${limits && html`<small>Up to ${bytes(limits.max_file_bytes)} each: text, and ${limits.file_extensions.join(', ')}.</small>`}
    </div>
  `;
}

/** A text that is stored as a memory. @param {{ limits: Limits | undefined, onSave: (note: { title: string, text: string }) => void }} props */
function Note({ limits, onSave }) {
  const [title, setTitle] = useState('');
  const [text, setText] = useState('');
  const max = limits?.max_text_characters ?? Number.POSITIVE_INFINITY;
  /** @param {Event} event */
  const onSubmit = (event) => {
    event.preventDefault();
    if (text.trim() === '' || text.length > max) return;
    onSave({ title: title.trim(), text });
    setTitle('');
    setText('');
  };
  return html`
    <form class="note" onSubmit=${onSubmit} aria-label="Note">
      <strong>Or write a note</strong>
      <${Field} label="Title (optional)" value=${title} maxlength="500" onInput=${setTitle} />
      <${Field} as="textarea" label="Text" rows="4" required value=${text} onInput=${setText} />
      ${text.length > max && html`<div class="problem" role="alert">The text has ${count(text.length)} characters. It must not exceed ${count(max)}.</div>`}
      <div><button type="submit" disabled=${text.trim() === '' || text.length > max}>Save as a memory</button></div>
    </form>
  `;
}

/** @param {(sources: Source[]) => void} onDropped @returns {boolean} whether files are held over the page */
function useDrop(onDropped) {
  const [depth, setDepth] = useState(0);
  const latest = useRef(onDropped);
  latest.current = onDropped;
  // Before the page is painted: a file that is dropped where nothing listens replaces the page.
  useLayoutEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    /** @param {DragEvent} event */
    const hasFiles = (event) => event.dataTransfer?.types.includes('Files') ?? false;
    // Entering a child comes before leaving its parent.
    addEventListener('dragenter', (event) => hasFiles(event) && setDepth((now) => now + 1), { signal });
    addEventListener('dragleave', (event) => hasFiles(event) && setDepth((now) => Math.max(0, now - 1)), { signal });
    addEventListener('dragover', (event) => hasFiles(event) && event.preventDefault(), { signal });
    addEventListener(
      'drop',
      (event) => {
        if (!event.dataTransfer || !hasFiles(event)) return;
        event.preventDefault();
        setDepth(0);
        void droppedFiles(event.dataTransfer).then((sources) => latest.current(sources));
      },
      { signal },
    );
    return () => ended.abort();
  }, []);
  return depth > 0;
}
