import { register } from 'node:module';
import { pathToFileURL } from 'node:url';
import circus, { type TestRunner } from 'jest-circus/runner';
import { Agent, setGlobalDispatcher } from 'undici';
import { useJestGlobals } from './jest-globals.js';
import { closeConnections } from './mongodb.js';

type Exports = Record<string, unknown>;

const GLOBALS = new URL('./jest-globals.js', import.meta.url).href;

register(
  `data:text/javascript,${encodeURIComponent(`
    export const resolve = (specifier, context, next) =>
      specifier === '@jest/globals' ? { url: '${GLOBALS}', shortCircuit: true } : next(specifier, context);
  `)}`,
);

// `fetch` gives up idle connections long before the product closes them, also when a test blocks the process for seconds.
setGlobalDispatcher(new Agent({ keepAliveTimeoutThreshold: 30_000 }));

/**
 * Runs one test file with Jest's usual runner, but lets Node load the file and what it imports. Jest loads every package
 * again for every test file, which costs a second of CPU and more each time; here a worker process loads a module once,
 * and all its test files share it. So `jest.mock` is not available, and no module of the tests keeps state between files.
 */
const runTestFile: TestRunner = async (globalConfig, config, environment, runtime, path, ...rest) => {
  shareClasses(environment.global);
  runtime.unstable_shouldLoadAsEsm = (file) => file === path;
  runtime.unstable_importModule = (file) => {
    useJestGlobals(runtime.requireModuleOrMock(file, '@jest/globals') as Exports);
    return import(pathToFileURL(file).href);
  };
  try {
    return await circus.default(globalConfig, config, environment, runtime, path, ...rest);
  } finally {
    await closeConnections();
  }
};
export default runTestFile;

/** Jest's matchers run in a realm of their own: without this `expect.any(Date)` and `instanceof` would miss there. */
function shareClasses(matchersGlobal: Exports): void {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const value = (globalThis as Exports)[name];
    if (typeof value === 'function' && /^[A-Z]/.test(name)) matchersGlobal[name] = value;
  }
}
