import { INDEXING_STATUS_TABLE } from 'domain/content/states.js';
import { isFinalState } from 'domain/state-machine.js';
import { call, withQuery } from './api.js';
import { createChanges, useChanging } from './changes.js';
import { faultOf } from './files.js';
import { session } from './session.js';

/**
 * The files and notes that this tab sends. The list outlives the page that shows it, so that a person can look at something else
 * meanwhile.
 *
 * @typedef {object} Place
 * @property {string} database
 * @property {string} collection
 *
 * @typedef {object} Upload
 * @property {string} id of the item; empty until a note is sent
 * @property {string} name
 * @property {number} size bytes
 * @property {Place} place
 * @property {'checking' | 'refused' | 'waiting' | 'sending' | 'cut off' | 'rejected' | 'sent'} step
 * @property {number} share of it that is sent, 0 to 1
 * @property {boolean} replaces an item with its id
 * @property {boolean} exists an item with its id exists
 * @property {boolean} unchanged the item has this content already
 * @property {import('domain/content/states.js').IndexingStatus} status of the item, once it is sent
 * @property {string} [fault] why it is refused here, rejected by the API or could not be read
 * @property {string} key a request that is repeated with it is not run again
 * @property {(form: FormData) => void} fill adds its content
 */

const SENT_AT_ONCE = 3;
/** As many as one request may name. */
const STATUS_IDS = 100;

/** @type {Upload[]} */
let list = [];
const { tell, onChange } = createChanges();
let stop = new AbortController();

/** @type {Promise<import('./files.js').Limits> | undefined} */
let limitsRead;

/** What the API accepts; read once. */
export function readLimits() {
  limitsRead ??= call('GET', '/usage').then(({ ingest }) => ingest);
  limitsRead.catch(() => {
    limitsRead = undefined;
  });
  return limitsRead;
}

/** @param {Upload} upload @param {Partial<Upload>} change */
function set(upload, change) {
  Object.assign(upload, change);
  tell();
}

/** @param {Upload['step']} step */
const at = (step) => list.filter((upload) => upload.step === step);

export const uploads = {
  /**
   * @param {import('./files.js').Source[]} sources
   * @param {Place} place
   * @param {{ replaces: boolean }} options
   */
  async addFiles(sources, place, { replaces }) {
    const added = sources.map(({ id, file }) =>
      newUpload({ id, name: id, size: file.size, place, replaces }, (form) => {
        form.append('documents', file, file.name);
        form.append('document_metadata', JSON.stringify([{ id }]));
      }),
    );
    list = [...list, ...added];
    tell();
    // Without them the API decides.
    const limits = await readLimits().catch(() => undefined);
    await Promise.all(
      added.map(async (upload, index) => {
        const source = /** @type {import('./files.js').Source} */ (sources[index]);
        const fault = await faultOf(source, limits).catch(() => 'The file cannot be read any more.');
        set(upload, fault ? { step: 'refused', fault } : { step: 'waiting' });
      }),
    );
    sendNext();
  },

  /** @param {{ title: string, text: string }} note @param {Place} place */
  addNote({ title, text }, place) {
    const size = new TextEncoder().encode(text).length;
    const name = title || text.trim().slice(0, 60);
    const note = newUpload({ id: '', name, size, place, replaces: false }, (form) =>
      form.append('memories', JSON.stringify([{ text, ...(title ? { title } : {}) }])),
    );
    note.step = 'waiting';
    list = [...list, note];
    tell();
    sendNext();
  },

  /** Sends what a lost connection has cut off. */
  retry() {
    for (const upload of at('cut off')) Object.assign(upload, { step: 'waiting', fault: undefined });
    tell();
    sendNext();
  },

  /** @param {Upload} upload whose id exists */
  replace(upload) {
    set(upload, { step: 'waiting', replaces: true, exists: false, fault: undefined, key: newKey() });
    sendNext();
  },

  /** Reads what has become of the items that were sent. @param {AbortSignal} signal */
  async readStatuses(signal) {
    /** @type {Map<string, Upload[]>} */
    const requests = new Map();
    for (const upload of list.filter(isOpen)) {
      // A comma in `ids` separates ids.
      const request = JSON.stringify([upload.place, upload.id.includes(',') ? upload.id : '']);
      requests.set(request, [...(requests.get(request) ?? []), upload]);
    }
    for (const group of requests.values()) {
      for (let start = 0; start < group.length; start += STATUS_IDS) {
        await readStatuses(group.slice(start, start + STATUS_IDS), signal);
      }
    }
  },

  /** Removes everything from the list. What is being sent is not stored. */
  clear() {
    stop.abort();
    stop = new AbortController();
    list = [];
    tell();
  },
};

/** Whether an item was sent that has not ended yet. @param {Upload} upload */
export const isOpen = ({ step, unchanged, status }) =>
  step === 'sent' && !unchanged && !isFinalState(INDEXING_STATUS_TABLE, status);

export const useUploads = () => useChanging(onChange, () => list);

session.onChange(() => {
  limitsRead = undefined;
  if (session.key('api') === null) uploads.clear();
});
addEventListener('beforeunload', (event) => {
  if (at('waiting').length + at('sending').length > 0) event.preventDefault();
});

/**
 * @param {Pick<Upload, 'id' | 'name' | 'size' | 'place' | 'replaces'>} about
 * @param {Upload['fill']} fill
 * @returns {Upload}
 */
const newUpload = (about, fill) => ({
  ...about,
  fill,
  step: 'checking',
  share: 0,
  exists: false,
  unchanged: false,
  status: 'queued',
  key: newKey(),
});

/** `randomUUID` exists on secure origins only. */
const newKey = () => [...crypto.getRandomValues(new Uint32Array(4))].join('-');

function sendNext() {
  const next = at('waiting').slice(0, SENT_AT_ONCE - at('sending').length);
  for (const upload of next) void send(upload, stop.signal);
}

/** @param {Upload} upload @param {AbortSignal} signal */
async function send(upload, signal) {
  set(upload, { step: 'sending', share: 0 });
  const { place, replaces, key } = upload;
  const form = new FormData();
  form.append('database', place.database);
  form.append('collection', place.collection);
  form.append('upsert', String(replaces));
  upload.fill(form);
  try {
    const onProgress = (/** @type {number} */ share) => set(upload, { share });
    const { results } = await call('POST', '/context/ingest', { form, onProgress, idempotencyKey: key, signal });
    const [{ id, status, error_code, error_message, unchanged = false }] = results;
    if (error_code) set(upload, { step: 'rejected', fault: error_message });
    else set(upload, { step: 'sent', id, status, unchanged });
  } catch (error) {
    if (signal.aborted) return;
    fail(upload, /** @type {import('./api.js').ApiError} */ (error));
  }
  sendNext();
}

/** @param {Upload} upload @param {import('./api.js').ApiError} error */
function fail(upload, { status, code, message }) {
  if (status !== 0 && status !== 429 && status < 500) {
    set(upload, { step: 'rejected', fault: message, exists: code === 'SOURCE_ALREADY_EXISTS' });
    return;
  }
  // The others would meet the same fate.
  for (const each of [upload, ...at('waiting')]) Object.assign(each, { step: 'cut off', fault: message });
  tell();
}

/** @param {Upload[]} group of one collection @param {AbortSignal} signal */
async function readStatuses(group, signal) {
  const [first] = /** @type {[Upload]} */ (group);
  const ids = group.map(({ id }) => id);
  const named = ids.length === 1 ? { id: first.id } : { ids: ids.join(',') };
  const { statuses } = await call('GET', withQuery('/context/status', { ...first.place, ...named }), { signal }).catch(
    (error) => {
      // The only item of a request that is not found is an error.
      if (error.status !== 404) throw error;
      return { statuses: [] };
    },
  );
  const byId = new Map(
    statuses.map((/** @type {import('./api.js').Schemas['ItemStatus']} */ status) => [status.id, status]),
  );
  for (const upload of group) {
    const { indexing_status: status, error_message: fault } = byId.get(upload.id) ?? {};
    if (status) Object.assign(upload, { status, fault: fault ?? undefined });
    else Object.assign(upload, { step: 'rejected', fault: 'The item was deleted.' });
  }
  tell();
}
