/**
 * Which layer may import which. Checked on the compiled code, where type-only imports are gone: a layer may know
 * another's types without depending on it.
 */
const layers = {
  domain: ['domain'],
  storage: ['domain', 'storage'],
  providers: ['domain', 'providers'],
  temporal: ['domain', 'temporal'],
  workflows: ['domain/work', 'workflows'],
  activities: ['domain', 'storage', 'providers', 'temporal', 'activities'],
  worker: ['domain', 'worker'],
  api: ['domain', 'storage', 'temporal', 'api'],
  stack: ['stack'],
  receiver: ['receiver'],
};

module.exports = {
  forbidden: [
    ...Object.entries(layers).map(([layer, allowed]) => ({
      name: `${layer}-imports`,
      comment: `${layer}/ may import only ${allowed.join(', ')} of the house`,
      severity: 'error',
      from: { path: `^dist/${layer}/` },
      to: { path: '^dist/', pathNot: allowed.map((path) => `^dist/${path}`) },
    })),
    { name: 'no-cycles', severity: 'error', from: { path: '^dist/' }, to: { circular: true } },
    {
      name: 'nothing-imports-tests',
      comment: 'production code must not depend on tests or benches',
      severity: 'error',
      from: { path: '^dist/', pathNot: '^dist/(test|bench|cli)/' },
      to: { path: '^dist/(test|bench|cli)/' },
    },
    {
      name: 'workflows-are-pure',
      comment: 'workflow code is replayed: no I/O, no packages but the workflow SDK',
      severity: 'error',
      from: { path: '^dist/workflows/' },
      to: { pathNot: ['^dist/(workflows|domain/work)', 'node_modules/@temporalio/workflow'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^dist/(workflow-bundle|receiver/examples)' },
  },
};
