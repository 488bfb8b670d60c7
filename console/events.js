import { session } from './session.js';

/**
 * The stream of `GET /events`, shared by everything on the page. It only says that something has changed: what is shown
 * is read from the other routes. Without the stream, or while the page is hidden, pages are read again at intervals.
 */

/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {AbortController | undefined} */
let open;
let ready = false;

const PAUSE_MS = 3_000;
/** After a response that will hardly change soon: a key without the scope, too many streams. */
const LONG_PAUSE_MS = 60_000;

/** Whether changes are reported at once. */
export const isStreaming = () => ready;

/** @param {() => void} listener called after changes @returns {() => void} */
export function onChange(listener) {
  listeners.add(listener);
  update();
  return () => {
    listeners.delete(listener);
    // The next page may listen at once.
    setTimeout(update);
  };
}

document.addEventListener('visibilitychange', update);
session.onChange(() => {
  close();
  update();
});

function update() {
  const wanted = listeners.size > 0 && !document.hidden && session.key('api') !== null;
  if (!wanted) close();
  else if (!open) {
    open = new AbortController();
    void follow(open.signal);
  }
}

function close() {
  open?.abort();
  open = undefined;
  ready = false;
}

/** @param {AbortSignal} signal */
async function follow(signal) {
  while (!signal.aborted) {
    const pause = await read(signal).catch(() => PAUSE_MS);
    if (signal.aborted) return;
    ready = false;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Reads one connection to its end. `EventSource` cannot send a key. @param {AbortSignal} signal @returns the pause before the next */
async function read(signal) {
  const headers = {
    Accept: 'text/event-stream',
    Authorization: `Bearer ${session.key('api')}`,
    'API-Version': '2',
  };
  const response = await fetch('/events', { headers, signal, credentials: 'omit' });
  if (!response.ok || !response.body) return LONG_PAUSE_MS;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const lines = (text + next.value).split('\n');
    text = lines.pop() ?? '';
    const events = lines.filter((line) => line.startsWith('event:'));
    if (events.length === 0) continue;
    ready = true;
    for (const listener of listeners) listener();
  }
  return PAUSE_MS;
}
