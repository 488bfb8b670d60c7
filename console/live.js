import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { call } from './api.js';
import { changesOf } from './changes.js';
import { connection } from './connection.js';
import { isStreaming, onChange } from './events.js';

/**
 * @template T
 * @typedef {{ data: T | undefined, error: Error | undefined, refresh: () => Promise<void> }} Live
 */

/**
 * An action of a person: whether it runs, and the error of its last run.
 * @template {any[]} Args
 * @param {(...args: Args) => Promise<unknown>} action
 * @param {(() => unknown)[]} after called in any case, so that the page shows the new state
 */
export function useAction(action, ...after) {
  const [state, setState] = useState({ busy: false, error: /** @type {Error | undefined} */ (undefined) });
  /** @param {Args} args */
  const run = async (...args) => {
    setState({ busy: true, error: undefined });
    const error = await action(...args).then(
      () => undefined,
      (fault) => fault,
    );
    setState({ busy: false, error });
    await Promise.all(after.map((each) => each()));
  };
  /** For forms. @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    return run(.../** @type {any} */ ([event]));
  };
  return { ...state, run, submit };
}

/** While changes are reported, the intervals only make up for what no event reports. */
const STREAMING_FACTOR = 4;
const SHORTEST_GAP_MS = 600;

/**
 * Loads data, and again after changes and every few seconds while the page is visible. What was loaded stays when a later
 * request fails.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} load
 * @param {unknown[]} inputs what `load` depends on: a change discards the data
 * @param {number | ((data: T | undefined) => number)} [everyMs] 0: once
 * @returns {Live<T>}
 */
export function useLive(load, inputs, everyMs = 5_000) {
  const identity = JSON.stringify(inputs);
  const [state, setState] = useState(/** @type {{ of: string, data?: T, error?: Error }} */ ({ of: identity }));
  const latest = useRef({ load, everyMs });
  latest.current = { load, everyMs };
  const run = useRef(async () => {});

  useEffect(() => {
    const ended = new AbortController();
    let timer = 0;
    let soon = 0;
    let asked = 0;
    let shown = 0;
    /** @type {T | undefined} */
    let data;
    const intervalMs = () => {
      const { everyMs: interval } = latest.current;
      return typeof interval === 'function' ? interval(data) : interval;
    };
    const once = async () => {
      clearTimeout(timer);
      clearTimeout(soon);
      soon = 0;
      asked += 1;
      const turn = asked;
      // Requests overtake each other: one from before a person's action must not undo what the page shows after it.
      const isLate = () => ended.signal.aborted || turn < shown;
      try {
        const found = await latest.current.load(ended.signal);
        if (isLate()) return;
        data = found;
        setState({ of: identity, data });
      } catch (error) {
        if (isLate()) return;
        setState({ of: identity, data, error: /** @type {Error} */ (error) });
      }
      shown = turn;
      clearTimeout(timer);
      const ms = intervalMs() * (isStreaming() ? STREAMING_FACTOR : 1);
      if (ms > 0 && !document.hidden) timer = setTimeout(once, ms);
    };
    run.current = once;
    // Many changes together are one request.
    const onEvent = () => {
      const ms = intervalMs();
      if (ms > 0 && soon === 0) soon = setTimeout(once, Math.max(SHORTEST_GAP_MS, ms / 5));
    };
    const onVisible = () => {
      if (!document.hidden && intervalMs() > 0) void once();
    };
    // What is read only once, too.
    const onConnection = () => {
      if (!connection.isLost()) void once();
    };
    const stops = [
      connection.onChange(onConnection),
      onChange(onEvent),
      changesOf(document, 'visibilitychange')(onVisible),
    ];
    void once();
    return () => {
      ended.abort();
      clearTimeout(timer);
      clearTimeout(soon);
      for (const stop of stops) stop();
    };
  }, [identity]);

  const refresh = useCallback(() => run.current(), []);
  const current = state.of === identity ? state : undefined;
  return { data: current?.data, error: current?.error, refresh };
}

/**
 * Reads a path of the API as `useLive` does.
 * @param {string} path
 * @param {number | ((data: any) => number)} everyMs 0: once
 * @param {import('./session.js').KeySlot} [as]
 * @returns {Live<any>}
 */
export const useGet = (path, everyMs, as) =>
  useLive((signal) => call('GET', path, { as, signal }), [path, as], everyMs);
