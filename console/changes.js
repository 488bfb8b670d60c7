import { useEffect, useState } from 'preact/hooks';

/** @typedef {(listener: () => void) => () => void} OnChange calls the listener after each change, until what it returns is called */

/** What changes by itself, and tells those who listen. */
export function createChanges() {
  /** @type {Set<() => void>} */
  const listeners = new Set();
  return {
    tell() {
      for (const listener of [...listeners]) listener();
    },
    /** @type {OnChange} */
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** The events of the browser. @param {EventTarget} target @param {string} name @returns {OnChange} */
export const changesOf = (target, name) => (listener) => {
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
};

/**
 * Renders again after each change.
 * @template T
 * @param {OnChange} onChange
 * @param {() => T} read
 * @returns {T} what is read now
 */
export function useChanging(onChange, read) {
  const [, setVersion] = useState(0);
  useEffect(() => onChange(() => setVersion((version) => version + 1)), []);
  return read();
}
