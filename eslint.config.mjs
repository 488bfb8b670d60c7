import regexp from 'eslint-plugin-regexp';

// Only what Biome has no rule for. The running time of a pattern must not grow faster than its input, because the input is
// often someone else's. Processes that serve others use undici's `fetch`: the one of Node has a version of undici that a server
// can end the process with. Reads the compiled files, so that no parser for TypeScript is required.
/** The folders whose code runs in the API, the worker and the embedding process. */
const SERVING = 'activities,api,domain,embedder,providers,runtime,storage,temporal,worker';

export default [
  { ignores: ['dist/test/**', 'dist/bench/**', 'dist/workflow-bundle-*.js'] },
  {
    files: ['dist/**/*.js'],
    linterOptions: { noInlineConfig: true },
    plugins: { regexp },
    rules: { 'regexp/no-super-linear-backtracking': 'error', 'regexp/no-super-linear-move': 'error' },
  },
  {
    files: [`dist/{${SERVING}}/**/*.js`],
    linterOptions: { noInlineConfig: true },
    languageOptions: { globals: { fetch: 'readonly' } },
    rules: { 'no-restricted-globals': ['error', 'fetch', 'FormData'] },
  },
];
