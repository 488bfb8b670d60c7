import { readFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Module, SourceTextModule, SyntheticModule } from 'node:vm';
import circus, { type TestRunner } from 'jest-circus/runner';

type Exports = Record<string, unknown>;

/** Where the modules lie that declare tests; the rest of them only helps. */
const TESTS = new URL('..', import.meta.url).href;
const HELPERS = [new URL('.', import.meta.url).href, new URL('../fixtures/', import.meta.url).href];

/**
 * Runs one test file with Jest's usual runner, but lets Node import what the file imports. Jest evaluates every package
 * again for every test file, which costs a second of CPU and more each time; here a worker process loads a module once
 * and all its test files share it. So `jest.mock` has no effect, and no helper keeps state that a test file changes.
 */
const runTestFile: TestRunner = (globalConfig, config, environment, runtime, ...rest) => {
  shareClasses(environment.global);
  runtime.unstable_importModule = (path) =>
    importTestFile(path, runtime.requireModuleOrMock(path, '@jest/globals') as Exports);
  return circus.default(globalConfig, config, environment, runtime, ...rest);
};
export default runTestFile;

/** Jest's matchers run in a realm of their own: without this `expect.any(Date)` and `instanceof` would miss there. */
function shareClasses(matchersGlobal: Exports): void {
  for (const name of Object.getOwnPropertyNames(globalThis)) {
    const value = (globalThis as Exports)[name];
    if (typeof value === 'function' && /^[A-Z]/.test(name)) matchersGlobal[name] = value;
  }
}

/** Evaluates a test file, and modules of tests that it imports, again: their `@jest/globals` belong to this run. */
async function importTestFile(path: string, jestGlobals: Exports): Promise<void> {
  const evaluated = new Map<string, Module>();

  function testModule(url: string): Module {
    const module = new SourceTextModule(readFileSync(fileURLToPath(url), 'utf8'), {
      identifier: fileURLToPath(url),
      initializeImportMeta(meta) {
        meta.url = url;
      },
    });
    evaluated.set(url, module);
    return module;
  }

  async function resolve(specifier: string, { identifier }: Module): Promise<Module> {
    if (specifier === '@jest/globals') return wrap(jestGlobals);
    const url = specifier.startsWith('.') ? new URL(specifier, pathToFileURL(identifier)).href : specifier;
    if (!url.startsWith(TESTS) || HELPERS.some((folder) => url.startsWith(folder))) return wrap(await import(url));
    return evaluated.get(url) ?? testModule(url);
  }

  const file = testModule(pathToFileURL(path).href);
  await file.link(resolve);
  await file.evaluate();
}

function wrap(exports: Exports): Module {
  const names = Object.keys(exports);
  const module = new SyntheticModule(names, () => {
    for (const name of names) module.setExport(name, exports[name]);
  });
  return module;
}
