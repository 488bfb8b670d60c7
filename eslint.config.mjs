import regexp from 'eslint-plugin-regexp';

// Only what Biome has no rule for: the running time of a pattern must not grow faster than its input, because the input
// is often someone else's. Reads the compiled files, so that no parser for TypeScript is required.
export default [
  { ignores: ['dist/test/**', 'dist/bench/**', 'dist/workflow-bundle-*.js'] },
  {
    files: ['dist/**/*.js'],
    linterOptions: { noInlineConfig: true },
    plugins: { regexp },
    rules: { 'regexp/no-super-linear-backtracking': 'error', 'regexp/no-super-linear-move': 'error' },
  },
];
