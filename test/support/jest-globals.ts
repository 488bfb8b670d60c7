/**
 * What test files get for `@jest/globals`. Modules are loaded once per worker process, but each test file has Jest
 * functions of its own, so these forward to the functions of the file that runs.
 */
type Globals = Record<string, unknown>;

let current: Globals = {};

/** @param globals the exports of `@jest/globals` for the test file that is about to run */
export function useJestGlobals(globals: Globals): void {
  current = globals;
}

function forward(name: string): unknown {
  return new Proxy(() => {}, {
    apply: (_target, _self, args) => (current[name] as (...args: unknown[]) => unknown)(...args),
    get: (_target, key) => (current[name] as Record<PropertyKey, unknown>)[key],
  });
}

export const [describe, test, it, expect, beforeAll, beforeEach, afterAll, afterEach] = [
  'describe',
  'test',
  'it',
  'expect',
  'beforeAll',
  'beforeEach',
  'afterAll',
  'afterEach',
].map(forward);
