/** Tests run as compiled, so that they test what ships; `npm test` compiles first. */
export default {
  rootDir: 'dist',
  // Not among the temporary files, which end with a run.
  cacheDirectory: '<rootDir>/.jest',
  testMatch: ['<rootDir>/test/**/*.test.js'],
  testEnvironment: 'node',
  transform: {},
  testSequencer: '<rootDir>/test/support/sequencer.js',
  testRunner: '<rootDir>/test/support/runner.js',
  globalSetup: '<rootDir>/test/support/global-setup.js',
  globalTeardown: '<rootDir>/test/support/global-teardown.js',
  // Beyond what `eventually` waits for, so that its message, which names the missing condition, comes first.
  testTimeout: 1_200_000,
  // Two cores stay busy: most test files wait for the product and for their own processes.
  maxWorkers: 4,
};
